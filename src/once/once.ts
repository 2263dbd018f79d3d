import type { Result } from '../core/record.ts'
import { readResult } from '../core/result.ts'
import { RememberedFailureError, TerminalError } from '../foundation/errors.ts'
import type { OutgoingMessage } from '../ports/outbox.ts'
import type { Claim, InboxStore, LeaseStore } from '../ports/store.ts'
import type { Answered } from './call.ts'
import { withoutTransaction } from '../execution/without-transaction.ts'
import { callsOn } from './calls.ts'
import { settingsOf, type OnceContext, type OnceOptions, type OnceSettings } from './options.ts'
import type { RunContext } from './run.ts'

/** The result of a call, and whether an earlier or concurrent call made it. */
export interface Once<T> {
  /** As JSON keeps it, for the first caller too: a `Date` is text, for every caller the same. */
  readonly result: T
  /** `true`: the function was not called by this call. */
  readonly replayed: boolean
}

/**
 * Calls `fn` once for `key`, and answers every later call with its result: claim, run, mark, as for a message. The
 * result is stored with the mark in one write. `undefined`, `null` and the empty string are results.
 *
 * - When `fn` throws before its signal aborts, nothing happened: the key is free again, and the caller gets the error.
 *   `rememberFailure` makes an error the answer. Throw `OutcomeUnknownError` if the effect may have happened.
 * - On an inbox store, write through `context.tx`: effect and mark commit together, so the effect happens at most once.
 * - On a lease store, a crash between effect and mark leaves the key in doubt: `onInDoubt`. Pass
 *   `context.idempotencyKey` to providers that deduplicate.
 * - Two runs of one key are never under way at once while the first keeps its lease. `context.signal` aborts before the
 *   lease is lost.
 *
 * @param store - a lease or an inbox store. It is opened by the first call, and belongs to the caller
 * @param key - 1 to 512 bytes, compared as bytes
 * @throws (rejects) any error of `fn`; RememberedFailureError for a duplicate of a remembered failure
 * @throws (rejects) OnceError `ONCE_BUSY`, `ONCE_CONFLICT`, `ONCE_SET_ASIDE`: `fn` was not called
 * @throws (rejects) StoreError if the store does not answer in `waitMs`, or after `fn` in `leaseMs` (then the key is in
 * doubt)
 * @throws (rejects) TerminalError `RESULT_NOT_KEPT`: what `fn` returned is nothing that JSON can say, or too large. On a
 * lease store every duplicate gets this error too; on an inbox nothing is committed
 * @throws (rejects) ConfigError `CONFIG_INVALID`, and the reason of `signal`
 */
export async function once<T, Tx = never>(
  store: LeaseStore | InboxStore<Tx>,
  key: string | Uint8Array,
  fn: (context: OnceContext<Tx>) => T | Promise<T>,
  options: OnceOptions<T> = {},
): Promise<Once<T>> {
  return called(store, fn, settingsOf(store as InboxStore<never>, key, fn, options))
}

/**
 * As `once`, for a function that a call cannot run twice: where another run would follow, because nothing of the first
 * was committed, it rejects with LostRun.
 */
export async function onceInOneRun<T, Tx = never>(
  store: LeaseStore | InboxStore<Tx>,
  key: string | Uint8Array,
  fn: (context: OnceContext<Tx>) => T | Promise<T>,
  options: OnceOptions<T>,
): Promise<Once<T>> {
  return called(store, fn, settingsOf(store as InboxStore<never>, key, fn, options, 'onceInOneRun'))
}

async function called<T, Tx>(
  store: LeaseStore | InboxStore<Tx>,
  fn: (context: OnceContext<Tx>) => T | Promise<T>,
  settings: OnceSettings,
): Promise<Once<T>> {
  const { idempotencyKey } = settings
  const isLease = store.strategy === 'lease'
  const work = (context: RunContext, { attempt, fence }: Claim): unknown => {
    const own = isLease ? { fence } : { tx: context.tx as Tx }
    // Lazy: most functions read no signal.
    const publish = (message: OutgoingMessage): Promise<string> => context.publish(message, idempotencyKey)
    const withSignal = Object.defineProperty({ idempotencyKey, attempt, publish, ...own }, 'signal', {
      enumerable: true,
      get: () => context.signal,
    })
    if (!isLease) return fn(withSignal as unknown as OnceContext<Tx>)
    const withoutTx = Object.defineProperty(withSignal, 'tx', { get: () => void askers.add(withSignal) })
    return explained(withoutTx, () => fn(withoutTx as unknown as OnceContext<Tx>))
  }
  const answered = await callsOn(store).answer(settings, work)
  return { result: resultIn(answered) as T, replayed: answered.isReplayed }
}

/** Contexts under a lease whose function has asked for `tx`. */
const askers = new WeakSet<object>()

/** Whether a function under a lease has asked its context for `tx`. */
export function askedForTransaction(context: object): boolean {
  return askers.has(context)
}

async function explained(context: object, run: () => unknown): Promise<unknown> {
  try {
    return await run()
  } catch (error) {
    throw askedForTransaction(context) ? withoutTransaction('context.tx', error) : error
  }
}

/** @throws what the caller gets in place of a result */
function resultIn({ kept, thrown }: Answered): unknown {
  // The caller of a run gets what its function threw, not a copy.
  if (thrown !== undefined) throw thrown.error
  return valueOf(kept)
}

function valueOf(kept: Result): unknown {
  const remembered = readResult(kept)
  if (remembered.kind === 'value') return remembered.value
  const { failure } = remembered
  const { code, message } = failure
  if (code === 'RESULT_NOT_KEPT' || code === 'RESULT_UNREADABLE') throw new TerminalError(message, undefined, code)
  throw new RememberedFailureError(failure)
}
