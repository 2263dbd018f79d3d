import type { DurationMs, MonotonicMs } from './units.ts'

/** How long one run of a function of the user may take. */
export interface Limits {
  /** After that it is aborted. */
  readonly handlerTimeoutMs: DurationMs
  /** How long it has to end, once it is aborted. */
  readonly graceMs: DurationMs
}

/** A run as far as its time goes. */
interface Timed {
  readonly startedAt: MonotonicMs
  /** Shortly before its lease ends. Infinite without a lease, and when it may go on without one. */
  readonly leaseEndsAt: MonotonicMs
}

/** What the time asks for. `ignores-abort`: nobody waits for the run any longer. */
type Due = 'nothing' | 'lease-ends' | 'takes-too-long' | 'ignores-abort'

export function dueOf({ startedAt, leaseEndsAt }: Timed, now: MonotonicMs, limits: Limits): Due {
  const { handlerTimeoutMs, graceMs } = limits
  const ranMs = now - startedAt
  if (ranMs >= handlerTimeoutMs + graceMs) return 'ignores-abort'
  if (now >= leaseEndsAt) return 'lease-ends'
  return ranMs >= handlerTimeoutMs ? 'takes-too-long' : 'nothing'
}

/** When `dueOf` next asks for something else. `isAborted`: the end of the lease asks for nothing more. */
export function nextDueAt(
  { startedAt, leaseEndsAt, isAborted }: Timed & { readonly isAborted: boolean },
  now: MonotonicMs,
  { handlerTimeoutMs, graceMs }: Limits,
): MonotonicMs {
  const abortAt = startedAt + handlerTimeoutMs
  const ownAt = now < abortAt ? abortAt : abortAt + graceMs
  return isAborted ? ownAt : Math.min(ownAt, leaseEndsAt)
}
