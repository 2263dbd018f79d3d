import type { Mutant } from './mutant.ts'

/** What became of a mutant. */
export type Fate =
  | { readonly kind: 'killed'; readonly by: string }
  /** A check is missing. */
  | { readonly kind: 'alive'; readonly why: string }
  /** Its tests fail without it, or did not run: nothing is known of it. */
  | { readonly kind: 'unproven'; readonly why: string }

export interface Tried {
  readonly mutant: Mutant
  readonly fate: Fate
  readonly seconds: number
}

/** For people who wait for it. */
export function lineOf({ mutant: { name }, fate, seconds }: Tried): string {
  const took = `${seconds.toFixed(1)} s`
  switch (fate.kind) {
    case 'killed':
      return `killed    ${name} by ${fate.by} (${took})`
    case 'alive':
      return `LIVES     ${name}: ${fate.why} (${took})`
    case 'unproven':
      return `UNPROVEN  ${name}: ${fate.why} (${took})`
  }
}
