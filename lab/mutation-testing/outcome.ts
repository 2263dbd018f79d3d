import type { Mutant } from '../mutants/mutant.ts'

/** The result of trying a mutant. */
export type Outcome =
  | { readonly kind: 'killed'; readonly by: string }
  /** A check is missing. */
  | { readonly kind: 'alive'; readonly why: string }
  /** Its tests fail without it, or did not run: nothing is known of it. */
  | { readonly kind: 'unproven'; readonly why: string }

export interface Tried {
  readonly mutant: Mutant
  readonly outcome: Outcome
  readonly seconds: number
}

/** One line for people who watch the run. */
export function lineOf({ mutant: { name }, outcome, seconds }: Tried): string {
  const took = `${seconds.toFixed(1)} s`
  switch (outcome.kind) {
    case 'killed':
      return `killed    ${name} by ${outcome.by} (${took})`
    case 'alive':
      return `LIVES     ${name}: ${outcome.why} (${took})`
    case 'unproven':
      return `UNPROVEN  ${name}: ${outcome.why} (${took})`
  }
}
