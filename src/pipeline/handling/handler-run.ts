import type { BatchItem, HandlerContext } from '../../consumer/options.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Claim } from '../../ports/store.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Message } from '../../ports/message.ts'
import type { RunTrace } from '../../ports/tracing.ts'
import { Skipped, skip } from '../../consumer/skipped.ts'
import { HANDLE, isWatched } from '../telemetry/channels.ts'
import type { Task } from '../task.ts'
import type { Held } from '../../execution/deadlines.ts'
import { resultOfThrow, type RunEnd } from '../../execution/run-end.ts'
import { TimedRun } from '../../execution/timed-run.ts'
import { withoutOutbox } from '../../execution/without-outbox.ts'
import { retryAt } from '../../foundation/retry-later.ts'
import type { Publishing } from '../../ports/outbox.ts'
import { withoutTransaction, type Asked } from '../../execution/without-transaction.ts'

/** A claimed message with its decoded payload. */
export interface RunItem {
  readonly task: Task
  /** A message with several identities: the claim with the most attempts. */
  readonly claim: Claim
  /** The claims of its further identities. */
  readonly others?: readonly Claim[] | undefined
  /** Set when the payload is decoded. */
  payload: unknown
  /** An earlier attempt left the record in doubt. */
  readonly doubt: boolean
}

export function tasksOf(items: readonly { readonly task: Task }[]): readonly Task[] {
  return items.map(({ task }) => task)
}

export type OnEnd = (run: HandlerRun, end: RunEnd) => void

const HANDLED: RunEnd = { result: 'handled' }

/** One run of the user's handler, for one message or a batch. */
export class HandlerRun extends TimedRun {
  readonly items: readonly RunItem[]
  readonly held: Held<RunItem>
  /** Its trace, if the consumer is traced. Set before the start. */
  trace: RunTrace | undefined = undefined
  /** What it publishes; `undefined`: nothing yet. */
  publishing: Publishing | undefined = undefined
  /** The handler asked for a transaction, and there is none. */
  askedForTransaction = false
  #consumer: ResolvedConsumer | undefined = undefined

  constructor(held: Held<RunItem>) {
    super()
    this.held = held
    this.items = held.items
  }

  /**
   * Calls the handler of a run that has begun, and `onEnd` once when it ends. Never throws. A callback, because a promise
   * would be one more for each message.
   */
  start(consumer: ResolvedConsumer, tx: unknown, onEnd: OnEnd): void {
    const handled = (value: unknown): void => {
      if (this.end()) onEnd(this, endOf(value, consumer))
    }
    const failed = (error: unknown): void => {
      if (!this.end()) return
      const told = this.askedForTransaction ? withoutTransaction('ctx.tx', error) : error
      onEnd(this, { result: resultOfThrow(told, this.isAborted), error: told })
    }
    try {
      // A value that is not a promise also ends in a later microtask, so `onEnd` is never called during the start.
      const { trace } = this
      const call = isWatched(HANDLE) ? () => this.#watched(consumer, tx) : () => this.#call(consumer, tx)
      Promise.resolve(trace === undefined ? call() : trace.run(call)).then(handled, failed)
    } catch (error) {
      // Thrown by the handler, or by a thenable that it returned, which may have called back before.
      failed(error)
    }
  }

  #watched(consumer: ResolvedConsumer, tx: unknown): Promise<unknown> {
    const messages = this.items.map(({ task: { message, key }, claim: { attempt, fence } }) => ({
      message,
      key,
      attempt,
      fence,
    }))
    return HANDLE.tracePromise(async () => this.#call(consumer, tx), { consumer: consumer.name, messages })
  }

  #call(consumer: ResolvedConsumer, tx: unknown): unknown {
    const { handle, handleBatch, log } = consumer
    this.#consumer = consumer
    if (handleBatch !== undefined)
      return handleBatch(tx === undefined ? new Batch(this, log) : new BatchInTransaction(this, log, tx))
    const [item] = this.items
    if (handle === undefined || item === undefined) throw new TypeError('HandlerRun without work (handler-run.call)')
    return handle(tx === undefined ? new Context(this, item, log) : new ContextInTransaction(this, item, log, tx))
  }

  /** For the handler of the message with this key. */
  publisherFor(idempotencyKey: string): HandlerContext<unknown>['publish'] {
    return (message) => {
      const { store } = this.#consumer ?? {}
      if (store?.outbox === undefined) throw withoutOutbox(store ?? { strategy: 'lease' })
      this.publishing ??= store.outbox.publishing()
      return this.publishing.publish(message, { idempotencyKey, traceparent: this.trace?.traceparent })
    }
  }
}

/** A message that was skipped has no result: its duplicates get `undefined`. */
function endOf(value: unknown, { handle, rememberResult }: ResolvedConsumer): RunEnd {
  const skipped = handle === undefined ? undefined : Skipped.reasonOf(value)
  if (skipped !== undefined) return { result: 'handled', skipped }
  return rememberResult ? { result: 'handled', value } : HANDLED
}

class Item implements BatchItem<unknown> {
  readonly message: Message
  readonly payload: unknown
  readonly idempotencyKey: string
  readonly attempt: number
  readonly fence: number
  readonly #run: HandlerRun

  constructor(run: HandlerRun, { task, claim, payload }: RunItem) {
    this.#run = run
    this.message = task.message
    this.payload = payload
    this.idempotencyKey = task.idempotencyKey
    this.attempt = claim.attempt
    this.fence = claim.fence
  }

  static runOf(item: Item): HandlerRun {
    return item.#run
  }

  /** Read by few handlers, so it is made when it is read. A copy of the context has none. */
  get publish(): BatchItem<unknown>['publish'] {
    return this.#run.publisherFor(this.idempotencyKey)
  }
}

abstract class AnyContext extends Item {
  declare readonly signal: AbortSignal
  readonly log: Logger
  readonly skip = skip

  constructor(run: HandlerRun, item: RunItem, log: Logger) {
    super(run, item)
    this.log = log
    Object.defineProperty(this, 'signal', AnyContext.#signal)
  }

  /** Called by few handlers, so no context has a copy of it. */
  get retryAt(): typeof retryAt {
    return retryAt
  }

  /**
   * An own property, so that `{ ...context }` copies it. Lazy, because few handlers read it and creating a signal costs
   * more than everything else.
   */
  static readonly #signal: PropertyDescriptor & ThisType<AnyContext> = {
    enumerable: true,
    get() {
      return Item.runOf(this).signal
    },
  }
}

class ContextInTransaction extends AnyContext implements HandlerContext<unknown, unknown> {
  readonly tx: unknown

  constructor(run: HandlerRun, item: RunItem, log: Logger, tx: unknown) {
    super(run, item, log)
    this.tx = tx
  }
}

/** Under a lease. `tx` is undefined, so that a handler of several stores may look whether there is one. */
class Context extends AnyContext implements HandlerContext<unknown, unknown> {
  readonly #asked: Asked

  constructor(run: HandlerRun, item: RunItem, log: Logger) {
    super(run, item, log)
    this.#asked = run
  }

  get tx(): undefined {
    this.#asked.askedForTransaction = true
    return undefined
  }
}

abstract class AnyBatch {
  declare readonly signal: AbortSignal
  readonly #run: TimedRun
  readonly messages: readonly Item[]
  readonly log: Logger

  constructor(run: HandlerRun, log: Logger) {
    this.#run = run
    this.messages = run.items.map((item) => new Item(run, item))
    this.log = log
    Object.defineProperty(this, 'signal', AnyBatch.#signal)
  }

  static readonly #signal: PropertyDescriptor & ThisType<AnyBatch> = {
    enumerable: true,
    get() {
      return this.#run.signal
    },
  }
}

class BatchInTransaction extends AnyBatch {
  readonly tx: unknown

  constructor(run: HandlerRun, log: Logger, tx: unknown) {
    super(run, log)
    this.tx = tx
  }
}

class Batch extends AnyBatch {
  readonly #asked: Asked

  constructor(run: HandlerRun, log: Logger) {
    super(run, log)
    this.#asked = run
  }

  get tx(): undefined {
    this.#asked.askedForTransaction = true
    return undefined
  }
}
