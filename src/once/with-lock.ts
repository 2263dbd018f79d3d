import type { DurationMs } from '../core/units.ts'
import { digestOf, identityOf } from '../identity/digest.ts'
import { StoreError } from '../foundation/errors.ts'
import { askStore, type Limit } from './ask.ts'
import { Wait } from './wait.ts'
import { faultOfRelease, faultsOfClaims, type FindFault } from '../execution/store-answers.ts'
import { func, millis, or, readOptions, refuse, plainText, type Complete, type Table } from '../foundation/options.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import { ONCE } from './options.ts'
import { deadlinesOn, OnceRun, type Granted } from './run.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { ReleaseVerdict } from '../core/record.ts'
import type { Claim, ClaimRequest, LeaseAnswer, LeaseStore } from '../ports/store.ts'
import { scopeText } from '../consumer/scope.ts'

/** How long a lock that nobody takes keeps its fence. */
const RETENTION_MS: DurationMs = 30 * 24 * 60 * 60_000
const POLL_MS: DurationMs = 250
/** The longest wait for the release, after `fn` has ended. */
const RELEASE_MS: DurationMs = 5_000
/** No consumer has it: neither group nor name is empty. */
const SCOPE = scopeText(['lock', '', ''])

export interface WithLockOptions {
  /**
   * How long the lock holds without renewal, in milliseconds, from 1000. It is renewed at a third.
   * @defaultValue 30000
   */
  readonly leaseMs?: DurationMs
  /**
   * How long to wait for the lock, in milliseconds: for another holder, and for a store that does not answer. 0: for no
   * other holder; the store then has `leaseMs` to answer.
   * @defaultValue 10000
   */
  readonly waitMs?: DurationMs
  /** Ends the wait, also for a store that does not answer, and aborts the signal of `fn`. `withLock` then waits for `fn`. */
  readonly signal?: AbortSignal
  /** @defaultValue the system clock */
  readonly clock?: Pick<Clock, 'monotonic' | 'after'>
  /** @defaultValue the system's randomness */
  readonly entropy?: Entropy
}

export interface HeldLock {
  /**
   * Grows with each holder of the lock. Pass it to what you change, and let that refuse a smaller one: only this
   * protects it from a holder that was paused for longer than its lease.
   */
  readonly fence: number
  /** Aborts before the lease can end, when the lock is lost, and when the signal of the caller aborts. */
  readonly signal: AbortSignal
}

/**
 * `ran`: `fn` ended while the lock was held. `lost`: it ended, but another may have held the lock by then. `busy`:
 * another held it for all of `waitMs`, and `fn` was not called.
 */
export type WithLock<T> =
  | { readonly verdict: 'ran' | 'lost'; readonly result: T; readonly fence: number }
  | { readonly verdict: 'busy' }

const WITH_LOCK: Table<WithLockOptions, 'signal'> = {
  leaseMs: or(30_000, millis({ least: 1_000 })),
  waitMs: or(10_000, millis({ least: 0 })),
  signal: ONCE.signal,
  clock: clockOption(),
  entropy: entropyOption(),
}

/**
 * Calls `fn` while it holds the lock `name`, and releases the lock when `fn` has ended.
 *
 * A lock is no proof. A process that is paused for longer than its lease does not know that it has lost the lock, and
 * works on beside the next holder. Look whether the work is done after you hold the lock, stop when `signal` aborts, and
 * let what you change refuse an old `fence`. For messages use a consumer, for requests `once`: both keep that the work
 * is done.
 *
 * @param store - `redisLease`, `postgresLease`, `mysqlLease`, or `memoryStore` within one process. It is opened
 * @param name - 1 to 512 bytes. Locks of one store and name exclude each other
 * @throws (rejects) any error of `fn`; the lock is released
 * @throws (rejects) StoreError if the store does not answer within `waitMs`. It is asked again until then, and a lock
 * that it grants later is released, or ends with its lease
 * @throws (rejects) ConfigError `CONFIG_INVALID`, and the reason of `signal` if it aborts before `fn` is called
 */
export async function withLock<T>(
  store: LeaseStore,
  name: string,
  fn: (lock: HeldLock) => T | Promise<T>,
  options: WithLockOptions = {},
): Promise<WithLock<T>> {
  const { leaseMs, waitMs, signal, clock, entropy } = settingsOf(store, name, fn, options)
  signal?.throwIfAborted()
  const wait = new Wait(clock, waitMs, signal)
  const patience = waitMs === 0 ? new Wait(clock, leaseMs, signal) : wait
  await patience.bound(store.open(), notOpen)
  const { key } = identityOf([Buffer.from(SCOPE)], Buffer.from(name))
  const items = [{ key, digest: digestOf(null) }]
  const request: ClaimRequest = {
    scope: SCOPE,
    token: entropy.ownerToken(),
    leaseMs,
    retentionMs: Math.max(RETENTION_MS, leaseMs),
    alone: true,
    items,
  }
  const parts = { store, clock, entropy, leaseMs }
  let sentAt = 0
  const call = (): Promise<readonly LeaseAnswer[]> => {
    sentAt = clock.monotonic()
    return store.claim(request)
  }
  const faultOf = faultsOfClaims(request, 'lease') as FindFault<LeaseAnswer>
  const limit: Limit = (giveUp) => patience.onEnd(patience.leftMs, giveUp)
  const late = (answer: LeaseAnswer): void => {
    if ('claim' in answer) void releaseLock(parts, answer.claim, (end) => clock.after(leaseMs, end)).catch(() => {})
  }
  for (let polls = 0; ; polls++) {
    wait.check()
    const asked = askStore(parts, { operation: 'claim', call, faultOf, limit, late })
    const answer = await asked.catch((error: unknown) => {
      wait.check()
      // The deadline came while it was asked once more.
      if (polls > 0) return BUSY
      throw error
    })
    if (answer.verdict === 'claimed' || answer.verdict === 'taken-over') {
      return runUnder({ claim: answer.claim, sentAt, doubt: false }, parts, fn, signal)
    }
    if (answer.verdict !== 'busy') throw unusable(name, answer)
    if (wait.leftMs === 0) return { verdict: 'busy' }
    await wait.for(Math.min(answer.leaseLeftMs, POLL_MS) + Math.ceil(entropy.fraction() * POLL_MS))
    wait.check()
    if (wait.leftMs === 0) return { verdict: 'busy' }
  }
}

const BUSY: LeaseAnswer = { verdict: 'busy', leaseLeftMs: 0 }

function notOpen(): StoreError {
  return new StoreError('STORE_UNREACHABLE', 'withLock: the store did not open in time; the function was not called')
}

function settingsOf(
  store: LeaseStore,
  name: string,
  fn: unknown,
  given: WithLockOptions,
): Complete<WithLockOptions, 'signal'> {
  const problems: string[] = []
  const options = readOptions(WITH_LOCK, given, { name: '', problems })
  if ((store as LeaseStore | undefined)?.strategy !== 'lease') {
    problems.push('store: expected one of strategy lease, such as redisLease({ redis })')
  }
  plainText().read(name, { name: 'name', problems })
  if (typeof name === 'string' && Buffer.byteLength(name) > 512) problems.push('name: expected at most 512 bytes')
  func().read(fn, { name: 'fn', problems })
  refuse('withLock', problems)
  return options
}

/** Nothing here marks a lock or sets it aside: another program, or a person, did. */
function unusable(name: string, { verdict }: LeaseAnswer): StoreError {
  const text = `withLock: expected lock ${JSON.stringify(name)} to be free or held, got ${verdict}: forget its record`
  return new StoreError('STORE_MISUSED', text)
}

interface StoreParts {
  readonly store: LeaseStore
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  readonly entropy: Entropy
  readonly leaseMs: DurationMs
}

/** The attempt is given back: a lock counts none. @throws (rejects) StoreError without an answer */
function releaseLock(parts: StoreParts, claim: Claim, limit: Limit): Promise<ReleaseVerdict> {
  const call = () => parts.store.release([claim], { refund: true, doubt: false })
  return askStore(parts, { operation: 'release', call, faultOf: faultOfRelease, limit })
}

/** Calls the function, which has no time limit, under a granted lock, and releases that. */
async function runUnder<T>(
  granted: Granted,
  parts: StoreParts,
  fn: (lock: HeldLock) => T | Promise<T>,
  caller: AbortSignal | undefined,
): Promise<WithLock<T>> {
  const { store, clock, leaseMs } = parts
  const { claim } = granted
  const { fence } = claim
  const deadlines = deadlinesOn(store, clock, { leaseMs, renewEveryMs: Math.floor(leaseMs / 3), ...NO_LIMIT })
  const run = new OnceRun({ store, deadlines, settings: { signal: caller, clock }, granted })
  const end = await run.start(
    ({ signal }) => fn({ fence, signal }),
    () => {},
  )
  deadlines.close()
  // By the local clock, counted from the request, not from its answer.
  const leftMs = run.granted.sentAt + leaseMs - clock.monotonic()
  // A lock that is not released ends with its lease: nobody waits for it longer than that.
  const limit: Limit = (giveUp) => clock.after(Math.min(Math.max(1, leftMs), RELEASE_MS), giveUp)
  const verdict = await releaseLock(parts, claim, limit).catch(() => undefined)
  if (end.result !== 'handled') throw end.error
  // Else another may have had it before.
  const isHeld = verdict === undefined ? leftMs > 0 : verdict !== 'refused'
  return { verdict: isHeld ? 'ran' : 'lost', result: end.value as T, fence }
}

const NO_LIMIT = { handlerTimeoutMs: Number.POSITIVE_INFINITY, graceMs: Number.POSITIVE_INFINITY }
