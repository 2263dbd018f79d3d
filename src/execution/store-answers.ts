import type { MarkVerdict, ReleaseVerdict, SetAsideVerdict } from '../core/record.ts'
import type { ClaimAnswer, ClaimRequest, Store } from '../ports/store.ts'

/**
 * Returns the fault of one answer of a store, if any. A store may be the user's own, so an answer outside of the
 * protocol must not be mistaken for a valid one.
 */
export type FindFault<T> = (answer: T, at: number) => string | undefined

/** A claim must have the requested key and token. */
export function faultsOfClaims(
  { token, items }: ClaimRequest,
  strategy: Store['strategy'],
): FindFault<ClaimAnswer<unknown>> {
  return (answer, at) => {
    switch (answer?.verdict) {
      case 'claimed':
      case 'taken-over': {
        const { claim, attempt } = answer
        if (claim?.key !== items[at]?.key) return 'a claim of another key than was asked for'
        if (claim.token !== token) return 'a claim under another token than was asked for'
        if (!Number.isSafeInteger(attempt) || attempt < 1 || claim.attempt !== attempt)
          return 'a claim without its attempt'
        return strategy !== 'lease' && !('transaction' in claim && claim.transaction !== undefined)
          ? 'a claim without a transaction'
          : undefined
      }
      case 'busy':
        return Number.isFinite(answer.leaseLeftMs) ? undefined : 'busy, and not for how long'
      case 'done':
        if (answer.result !== undefined && typeof answer.result !== 'string') return 'a result that is no text'
        return answer.since === undefined || Number.isFinite(answer.since)
          ? undefined
          : 'done since a time that is none'
      case 'given-up':
      case 'parked':
        return faultOfStory(answer)
      case 'unreadable':
        return typeof answer.found === 'string' ? undefined : 'unreadable, and not what was found'
      case 'again-alone':
        return Number.isSafeInteger(answer.attempts) && answer.attempts >= 0
          ? undefined
          : 'earlier attempts, and not how many'
      case 'in-doubt':
      case 'conflict':
      case 'behind':
        return undefined
    }
    return unknown('claim', (answer as { readonly verdict?: unknown } | undefined)?.verdict)
  }
}

function faultOfStory({
  verdict,
  reason,
  attempt,
  since,
  cause,
}: Extract<ClaimAnswer, { verdict: 'given-up' | 'parked' }>): string | undefined {
  if (typeof reason !== 'string') return `${verdict} without a reason`
  if (attempt !== undefined && !Number.isSafeInteger(attempt))
    return `${verdict} after a number of attempts that is none`
  if (since !== undefined && !Number.isFinite(since)) return `${verdict} since a time that is none`
  return cause === undefined || typeof cause === 'string' ? undefined : `${verdict} for a cause that is no text`
}

export const faultOfMark: FindFault<MarkVerdict> = oneOf('mark', {
  marked: true,
  'already-marked': true,
  'marked-late': true,
  'refused-busy': true,
  'refused-done': true,
})

export const faultOfRelease: FindFault<ReleaseVerdict> = oneOf('release', {
  released: true,
  'already-released': true,
  refused: true,
})

export const faultOfSetAside: FindFault<SetAsideVerdict> = oneOf('set aside', {
  'given-up': true,
  parked: true,
  refused: true,
})

function oneOf<T extends string>(what: string, words: Readonly<Record<T, true>>): FindFault<T> {
  const known: ReadonlySet<unknown> = new Set(Object.keys(words))
  return (answer) => (known.has(answer) ? undefined : unknown(what, answer))
}

function unknown(what: string, got: unknown): string {
  return `a verdict on a ${what} that the protocol does not know: ${shown(got)}`
}

function shown(got: unknown): string {
  return typeof got === 'string' ? JSON.stringify(got.slice(0, 50)) : typeof got
}
