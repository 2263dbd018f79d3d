import { isMarked } from '../core/after-run.ts'
import type { Claim } from '../ports/store.ts'

/** The claims of one message: one, or one for each of its identities. */
export interface Claims {
  /** The one with the most attempts. */
  readonly claim: Claim
  readonly others?: readonly Claim[] | undefined
}

/** The claims of all keys of these messages, message by message. */
export function claimsOf(items: readonly Claims[]): readonly Claim[] {
  const claims: Claim[] = []
  for (const { claim, others } of items) {
    claims.push(claim)
    if (others !== undefined) claims.push(...others)
  }
  return claims
}

/** One value for each message, for each of its claims. */
export function forEachClaim<T>(items: readonly Claims[], values: readonly T[]): readonly T[] {
  if (items.every(({ others }) => others === undefined)) return values
  return items.flatMap(({ others }, at) => {
    const value = values[at] as T
    return others === undefined ? [value] : [value, ...others.map(() => value)]
  })
}

/** One verdict for each message: that of the first claim that failed, if one did. */
export function forEachItem<T>(
  items: readonly Claims[],
  verdicts: readonly T[],
  hasFailed: (verdict: T) => boolean,
): readonly T[] {
  if (verdicts.length === items.length) return verdicts
  let at = 0
  return items.map(({ others }) => {
    let decides = verdicts[at++] as T
    for (let left = others?.length ?? 0; left > 0; left--) {
      const verdict = verdicts[at++] as T
      if (!hasFailed(decides) && hasFailed(verdict)) decides = verdict
    }
    return decides
  })
}

export const isRefused = (verdict: Parameters<typeof isMarked>[0]): boolean => !isMarked(verdict)
