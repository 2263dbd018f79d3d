import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { StoppedError } from '../foundation/errors.ts'
import type { Claims } from '../execution/claims.ts'
import { Deadlines, Held } from '../execution/deadlines.ts'
import { resultOfThrow, type RunEnd } from '../execution/run-end.ts'
import { TimedRun } from '../execution/timed-run.ts'
import type { Clock } from '../ports/clock.ts'
import { withoutOutbox } from '../execution/without-outbox.ts'
import type { OutgoingMessage, Publishing } from '../ports/outbox.ts'
import type { Claim, OpenTransaction, Store, TransactionClaim } from '../ports/store.ts'
import type { OnceSettings } from './options.ts'

export type OnceDeadlines = Deadlines<Claims>

/** One timer for runs with the same times. Without an answer to a renewal, the local deadline aborts them. */
export function deadlinesOn(
  store: Pick<Store<unknown>, 'renew'>,
  clock: Pick<Clock, 'monotonic' | 'after'>,
  times: Readonly<Record<'leaseMs' | 'renewEveryMs' | 'handlerTimeoutMs' | 'graceMs', DurationMs>>,
): OnceDeadlines {
  return new Deadlines({
    consumer: { ...times, onStoreDown: 'pause' },
    clock,
    store: { isDown: false, renew: (claims) => store.renew(claims, times.leaseMs).catch(() => []) },
  })
}

/** A claim, and when the call that granted or last renewed it was sent. */
export interface Granted {
  readonly claim: Claim
  readonly sentAt: MonotonicMs
  /** An earlier run may have had the effect. */
  readonly doubt: boolean
}

/** `isStuck`: nobody waits for it any more, and it may still be running. */
export type OnceEnd = RunEnd & { readonly isAborted: boolean; readonly isStuck: boolean }

/** Arguments of a function that runs under a claim. */
export interface RunContext {
  readonly signal: AbortSignal
  readonly tx: unknown
  /** As `HandlerContext.publish`, for the call with this key. */
  publish(message: OutgoingMessage, idempotencyKey: string): Promise<string>
}

interface RunParts {
  readonly deadlines: OnceDeadlines
  readonly settings: Pick<OnceSettings, 'signal'> & { readonly clock: Pick<Clock, 'monotonic'> }
  readonly granted: Granted
  readonly store: Pick<Store<unknown>, 'outbox' | 'strategy'>
}

/** One run of a function of the user under a claim that is renewed, from the start of the function to the mark. */
export class OnceRun {
  readonly #parts: RunParts
  readonly #run = new TimedRun()
  readonly #held: Held<Claims>
  #resolve: (end: OnceEnd) => void = () => {}

  constructor(parts: RunParts) {
    const { claim, sentAt } = parts.granted
    this.#parts = parts
    this.#held = new Held([{ claim }], sentAt, () => this.#stuck())
  }

  /** The same claim, as it is renewed now. */
  get granted(): Granted {
    return { ...this.#parts.granted, sentAt: this.#held.sentAt }
  }

  /** Resolves once. `onLate`: it ended after that. */
  start(work: (context: RunContext) => unknown, onLate: (end: RunEnd) => void): Promise<OnceEnd> {
    const { deadlines, settings, granted, store } = this.#parts
    const transaction = transactionOf(granted.claim)
    const lent = transaction?.lend()
    let publishing: Publishing | undefined
    const abort = (): void => this.#run.abort(reasonOf(settings.signal))
    this.#run.onAbort = () => void lent?.revoke()
    this.#run.begin(settings.clock.monotonic())
    deadlines.keep(this.#held, this.#run)
    settings.signal?.addEventListener('abort', abort)
    if (settings.signal?.aborted === true) abort()
    const over = (end: RunEnd): void => {
      settings.signal?.removeEventListener('abort', abort)
      lent?.revoke()
      const outgoing = publishing?.end() ?? []
      if (end.result === 'handled' && outgoing.length > 0) transaction?.publish?.(outgoing)
      this.#run.end()
      if (this.#run.state === 'ended') this.#resolve({ ...end, isAborted: this.#run.isAborted, isStuck: false })
      else onLate(end)
    }
    return new Promise((resolve) => {
      this.#resolve = resolve
      const run = this.#run
      const call = async (): Promise<unknown> =>
        work({
          tx: lent?.tx,
          publish: (message, idempotencyKey) => {
            if (store.outbox === undefined) throw withoutOutbox(store)
            publishing ??= store.outbox.publishing()
            return publishing.publish(message, { idempotencyKey })
          },
          get signal() {
            return run.signal
          },
        })
      call().then(
        (value) => over({ result: 'handled', value }),
        (error: unknown) => over({ result: resultOfThrow(error, run.isAborted), error }),
      )
    })
  }

  /** Its claim is renewed no longer. */
  close(): void {
    this.#parts.deadlines.release(this.#held)
  }

  #stuck(): void {
    if (!this.#run.abandon()) return
    this.close()
    this.#resolve({ result: 'unknown', error: this.#run.signal.reason, isAborted: true, isStuck: true })
  }
}

function transactionOf(claim: Claim): OpenTransaction<unknown> | undefined {
  return 'transaction' in claim ? (claim as TransactionClaim<unknown>).transaction : undefined
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof Error ? reason : new StoppedError('the signal of the caller aborted')
}
