import type { Digest, Key } from '../core/record.ts'
import { idBytes, type UnusableId } from '../core/message-id.ts'
import type { InDoubtPolicy } from '../core/after-claim.ts'
import type { DurationMs } from '../core/units.ts'
import { CONSUMER } from '../consumer/consumer-table.ts'
import { digestOf, identityOf } from '../identity/digest.ts'
import { ConfigError } from '../foundation/errors.ts'
import {
  either,
  ELSEWHERE,
  func,
  having,
  millis,
  oneOf,
  or,
  readOptions,
  plainText,
  where,
  type Complete,
  type Table,
  nowCalled,
} from '../foundation/options.ts'
import { shownText } from '../foundation/shown.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import type { SealResult, StrategyContext } from '../consumer/options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { OutgoingMessage } from '../ports/outbox.ts'
import type { InboxStore, LeaseStore } from '../ports/store.ts'
import { scopeText } from '../consumer/scope.ts'

/** The argument of the function that `once` calls: with `tx` on an inbox store, with `fence` on a lease store. */
export type OnceContext<Tx = never> = {
  /**
   * 43 characters, the same in every call with this key. Pass it to a provider that deduplicates requests. It contains
   * nothing of the key.
   */
  readonly idempotencyKey: string
  /** Number of this run, from 1, counted durably before it starts. `once` sets no limit: the caller decides about retries. */
  readonly attempt: number
  /**
   * Aborts when the function exceeds `handlerTimeoutMs`, when the lease or the connection of the transaction is lost, and when
   * the caller's `signal` aborts.
   */
  readonly signal: AbortSignal
  /**
   * Writes a message into the outbox of the store: it commits with this transaction, and is published after that, at least
   * once, under the same ID each time. A process without consumers runs the relay by `outbox.start()`.
   *
   * @throws as `publish` of a handler
   */
  readonly publish: (message: OutgoingMessage) => Promise<string>
} & StrategyContext<Tx>

/**
 * The answer of an `onInDoubt` function: the effect did not happen; nobody can tell; or it happened, with this result.
 */
export type OnceReconciled<T> = 'did-not-happen' | 'unknown' | { readonly result: T }

export interface OnceOptions<T = unknown> {
  /** Stands before the key: the same key in two scopes is two keys. Give each kind of call its own. @defaultValue `once` */
  readonly scope?: string
  /**
   * What the key was used for, such as the request body. A call with the same key and another payload is refused with
   * `ONCE_CONFLICT`. @defaultValue payloads are not compared
   */
  readonly payload?: string | Uint8Array
  /** Ends the wait for the claim, and aborts the `signal` of a running function. `once` then waits for the function. */
  readonly signal?: AbortSignal
  /**
   * What a call does while another one with this key is under way, in this or another process. `wait`: waits up to
   * `waitMs` for its result, and calls the function itself if that one failed. `refuse`: rejects with
   * `ONCE_BUSY`, as soon as that is known: an inbox waits up to its `lockTimeoutMs` for another process.
   * @defaultValue `wait`
   */
  readonly whenBusy?: 'wait' | 'refuse'
  /** The longest wait for the claim, in milliseconds: for another call, and for a store that does not answer. @defaultValue 10000 */
  readonly waitMs?: DurationMs
  /**
   * Lease stores only. Decides about a key of which an earlier run ended without a known end (crash, timeout,
   * `OutcomeUnknownError`). `rerun` calls the function. `park` sets the key aside for a person: this and every later
   * call gets `ONCE_SET_ASIDE`. A function finds out; `unknown` parks. @defaultValue `rerun`
   */
  readonly onInDoubt?: 'rerun' | 'park' | ((idempotencyKey: string) => OnceReconciled<T> | Promise<OnceReconciled<T>>)
  /**
   * Returns true for a failure that is the final answer, such as a declined payment. It is kept as the result, and
   * every duplicate rejects with `RememberedFailureError`. On an inbox the writes of the function are rolled back. Any
   * other return value, a promise, or an exception counts as false. @defaultValue none: a failure frees the key
   */
  readonly rememberFailure?: (error: unknown) => boolean
  /** How long a claim holds without renewal, in milliseconds. It is renewed while the function runs. @defaultValue 30000 */
  readonly leaseMs?: DurationMs
  /** How long the result is kept, in milliseconds. It must outlast every repetition of the call. @defaultValue 7 days */
  readonly retentionMs?: DurationMs
  /** How long the function may run, in milliseconds. Then its signal aborts, and the key is in doubt. @defaultValue 60000 */
  readonly handlerTimeoutMs?: DurationMs
  /** How long an aborted function may take to end. After that `once` rejects without it. @defaultValue 5000 */
  readonly graceMs?: DurationMs
  /** The largest result, in bytes of JSON. At most 1048576. @defaultValue 16384 */
  readonly maxResultBytes?: number
  /** Encrypts results and remembered failures in the store. @defaultValue stored as plain text */
  readonly sealResult?: SealResult
  /** Removes records whose retention has ended, for stores that do not expire them on their own. @defaultValue `background` */
  readonly purge?: 'background' | 'never'
  /** @defaultValue the system clock */
  readonly clock?: Clock
  /** @defaultValue the system source */
  readonly entropy?: Entropy
}

/** The options of one call, complete and checked. */
export interface OnceSettings extends Omit<Complete<OnceOptions, WithoutDefault>, 'payload' | 'onInDoubt'> {
  readonly key: Key
  readonly idempotencyKey: string
  readonly digest: Digest
  /** Whether another run follows one of which nothing was committed. */
  readonly runsAgain: boolean
  readonly onInDoubt: InDoubtPolicy
  readonly reconcile: ((idempotencyKey: string) => unknown) | undefined
  readonly renewEveryMs: DurationMs
}

type WithoutDefault = 'payload' | 'signal' | 'rememberFailure' | 'sealResult'

export const ONCE: Table<OnceOptions, WithoutDefault> = {
  scope: or('once', plainText()),
  // Every lone surrogate is encoded as the same bytes, so two payloads would be one.
  payload: where(
    'bytes, or text without a lone surrogate',
    (value) => (typeof value === 'string' ? value.isWellFormed() : value instanceof Uint8Array),
    { got: (value) => typeof value },
  ),
  signal: having('an AbortSignal', 'addEventListener'),
  whenBusy: or('wait', oneOf('wait', 'refuse')),
  waitMs: or(10_000, millis()),
  onInDoubt: or('rerun', either(oneOf('rerun', 'park'), func<Reconcile>())),
  rememberFailure: CONSUMER.rememberFailure,
  leaseMs: CONSUMER.leaseMs,
  retentionMs: CONSUMER.retentionMs,
  handlerTimeoutMs: CONSUMER.handlerTimeoutMs,
  graceMs: CONSUMER.graceMs,
  maxResultBytes: CONSUMER.maxResultBytes,
  sealResult: CONSUMER.sealResult,
  purge: CONSUMER.purge,
  clock: clockOption(),
  entropy: entropyOption(),
  [ELSEWHERE]: { timeoutMs: nowCalled('handlerTimeoutMs') },
}

type Reconcile = Extract<OnceOptions['onInDoubt'], (...given: never[]) => unknown>

const WHY_UNUSABLE: Readonly<Record<UnusableId, string>> = {
  missing: 'expected text or bytes, got none',
  blank: 'expected text that is not blank',
  'too-long': 'expected at most 512 bytes',
  'ill-formed': 'expected text without a lone surrogate',
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function settingsOf<T>(
  store: LeaseStore | InboxStore<never>,
  key: string | Uint8Array,
  fn: unknown,
  given: OnceOptions<T>,
  of: 'once' | 'onceInOneRun' = 'once',
): OnceSettings {
  const problems: string[] = []
  const options = readOptions(ONCE, given as OnceOptions, { name: '', problems })
  func().read(fn, { name: 'fn', problems })
  const id = isTextOrBytes(key) ? idBytes(key) : 'missing'
  if (typeof id === 'string') problems.push(`key: ${WHY_UNUSABLE[id]}`)
  problemsOfStore(store, given, problems)
  if (problems.length === 0) problemsOfTimes(options, problems)
  if (problems.length > 0 || typeof id === 'string') throw new ConfigError(problems.map((one) => `${of}: ${one}`))
  const { scope, onInDoubt } = options
  return {
    scope: scopeText([scope]),
    ...identityOf([Buffer.from(scope)], id),
    digest: options.payload === undefined ? '' : digestOf(bytesOf(options.payload)),
    signal: options.signal,
    whenBusy: options.whenBusy,
    waitMs: options.waitMs,
    runsAgain: of === 'once',
    leaseMs: options.leaseMs,
    renewEveryMs: Math.floor(options.leaseMs / 3),
    retentionMs: options.retentionMs,
    handlerTimeoutMs: options.handlerTimeoutMs,
    graceMs: options.graceMs,
    maxResultBytes: options.maxResultBytes,
    onInDoubt: typeof onInDoubt === 'function' ? 'reconcile' : onInDoubt,
    reconcile: typeof onInDoubt === 'function' ? onInDoubt : undefined,
    rememberFailure: options.rememberFailure,
    sealResult: options.sealResult,
    purge: options.purge,
    clock: options.clock,
    entropy: options.entropy,
  }
}

/** For a function that calls `once()` later. @param problems - problems are added here */
export function problemsOfOnce(
  store: LeaseStore | InboxStore<never>,
  given: Pick<OnceOptions, 'onInDoubt'>,
  times: Times,
  problems: string[],
): void {
  problemsOfStore(store, given, problems)
  problemsOfTimes(times, problems)
}

type Times = Readonly<Record<'leaseMs' | 'retentionMs' | 'handlerTimeoutMs' | 'graceMs', number>>

function problemsOfStore(
  store: LeaseStore | InboxStore<never>,
  given: Pick<OnceOptions, 'onInDoubt'>,
  problems: string[],
): void {
  const before = problems.length
  CONSUMER.store.read(store, { name: 'store', problems })
  if (problems.length > before) return
  const { strategy } = store
  if (strategy !== 'lease' && strategy !== 'inbox') {
    problems.push(
      `store: expected one of strategy lease or inbox, got ${shownText(strategy)}: it keeps positions of Kafka partitions, and nothing of a key`,
    )
  }
  if (strategy === 'inbox' && given?.onInDoubt !== undefined) {
    problems.push('onInDoubt: an inbox knows no doubt, effect and mark are one transaction; leave it out')
  }
}

function problemsOfTimes({ leaseMs, retentionMs, handlerTimeoutMs, graceMs }: Times, problems: string[]): void {
  const longestMs = leaseMs + handlerTimeoutMs + graceMs
  if (retentionMs > longestMs) return
  problems.push(
    `retentionMs: expected more than leaseMs + handlerTimeoutMs + graceMs (${longestMs}), got ${retentionMs}: the key could be forgotten while its function runs`,
  )
}

function isTextOrBytes(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

function bytesOf(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value
}
