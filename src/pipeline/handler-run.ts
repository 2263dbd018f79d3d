import type { HandlerResult } from '../core/decision.ts'
import type { Result } from '../core/record.ts'
import type { MonotonicMs } from '../core/units.ts'
import { NoEffectError, OutcomeUnknownError, TerminalError, hasCode, isConsumeOnceError } from '../errors.ts'
import type { BatchItem, HandlerContext } from '../options.ts'
import type { ResolvedConsumer } from '../resolve-options.ts'
import type { Claim } from '../ports/store.ts'
import type { Logger } from '../ports/logger.ts'
import type { Message } from '../ports/message.ts'
import type { Task } from './task.ts'

/** A claimed message with its decoded payload. */
export interface RunItem {
  readonly task: Task
  readonly claim: Claim<unknown>
  /** Once it is decoded. */
  payload: unknown
  /** An earlier attempt left doubt on the record. */
  readonly doubt: boolean
}

/** How a run of the handler ended. */
export interface RunEnd {
  readonly result: HandlerResult
  readonly error?: unknown
  /** What the handler returned, where that is asked for. */
  readonly value?: unknown
  /** What is to be kept with its mark. */
  readonly kept?: Result | undefined
}

type OnEnd = (run: HandlerRun, end: RunEnd) => void

const HANDLED: RunEnd = { result: 'handled' }

/**
 * One run of the user's handler: for one message, or for a batch. Its signal is made only when the handler asks for it.
 */
export class HandlerRun {
  readonly items: readonly RunItem[]
  /** Local end of the lease, counted from before the claim or renewal was sent. */
  leaseUntil: MonotonicMs
  startedAt: MonotonicMs | undefined
  hasEnded = false
  /** The handler did not end in time: nobody waits for it any more. */
  isDetached = false
  /** What is kept with its mark, of a run of one message. */
  kept: Result | undefined
  /** Of the lease keeper alone: when the granting claim or the last good renewal was sent. */
  renewedAt: MonotonicMs
  /** Of the lease keeper alone: where it keeps this run. */
  keptAt: number | undefined
  /** Of the lease keeper alone. */
  isLost = false
  /** Of the lease keeper alone: a renewal is under way. */
  isRenewing = false
  /** Called once, when it is aborted. */
  onAbort: (() => void) | undefined
  #controller: AbortController | undefined
  #abortedBy: Error | undefined

  constructor(
    items: readonly RunItem[],
    claimedAt: MonotonicMs = 0,
    leaseUntil: MonotonicMs = Number.POSITIVE_INFINITY,
  ) {
    this.items = items
    this.renewedAt = claimedAt
    this.leaseUntil = leaseUntil
  }

  get claims(): readonly Claim<unknown>[] {
    return this.items.map(({ claim }) => claim)
  }

  get isAborted(): boolean {
    return this.#abortedBy !== undefined
  }

  /** Not the handler failed: its delivery is gone, or the process stops. */
  get isInterrupted(): boolean {
    return hasCode(this.#abortedBy, 'DELIVERY_LOST') || hasCode(this.#abortedBy, 'STOPPED')
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy)
    return this.#controller.signal
  }

  /** Asks the handler to stop effects. The first reason stays. */
  abort(reason: Error): void {
    if (this.#abortedBy !== undefined) return
    this.#abortedBy = reason
    this.onAbort?.()
    this.#controller?.abort(reason)
  }

  /** Starts the handler, and tells once how it ended. Never throws. A promise of it would be one more for each message. */
  start(consumer: ResolvedConsumer, tx: unknown, now: MonotonicMs, onEnd: OnEnd): void {
    this.startedAt = now
    const handled = (value: unknown): void => {
      this.hasEnded = true
      onEnd(this, consumer.rememberResult ? { result: 'handled', value } : HANDLED)
    }
    const failed = (error: unknown): void => {
      if (this.hasEnded) return
      this.hasEnded = true
      onEnd(this, { result: this.#classify(error), error })
    }
    try {
      // Also what is no promise ends in a later microtask: what returned calls nobody back while it starts.
      Promise.resolve(this.#call(consumer, tx)).then(handled, failed)
    } catch (error) {
      // Of the handler; or of what it returned, which is the user's own too, and may have answered before.
      failed(error)
    }
  }

  #call(consumer: ResolvedConsumer, tx: unknown): unknown {
    const { handle, handleBatch, log } = consumer
    if (handleBatch !== undefined) return handleBatch(new Batch(this, tx, log))
    const [item] = this.items
    if (handle === undefined || item === undefined) throw new TypeError('HandlerRun without work (handler-run.call)')
    return handle(new Context(this, item, tx, log))
  }

  /** A plain throw before the abort asserts that no effect happened; after it nobody knows, unless the handler says so. */
  #classify(error: unknown): HandlerResult {
    // Asked first: what a handler throws may be a proxy, that answers no `instanceof`.
    const isOurs: boolean = isConsumeOnceError(error)
    if (!isOurs) return this.isAborted ? 'unknown' : 'failed'
    if (error instanceof NoEffectError || hasCode(error, 'NO_EFFECT')) return 'failed'
    if (error instanceof OutcomeUnknownError || hasCode(error, 'OUTCOME_UNKNOWN')) return 'unknown'
    if (this.isAborted) return 'unknown'
    return error instanceof TerminalError || hasCode(error, 'TERMINAL') ? 'fatal' : 'failed'
  }
}

class Item implements BatchItem<unknown> {
  readonly message: Message
  readonly payload: unknown
  readonly idempotencyKey: string
  readonly attempt: number
  readonly fence: number

  constructor({ task, claim, payload }: RunItem) {
    this.message = task.message
    this.payload = payload
    this.idempotencyKey = task.idempotencyKey
    this.attempt = claim.attempt
    this.fence = claim.fence
  }
}

class Context extends Item implements HandlerContext<unknown, unknown> {
  declare readonly signal: AbortSignal
  readonly #run: HandlerRun
  readonly tx: unknown
  readonly log: Logger

  constructor(run: HandlerRun, item: RunItem, tx: unknown, log: Logger) {
    super(item)
    this.#run = run
    this.tx = tx
    this.log = log
    Object.defineProperty(this, 'signal', Context.#signal)
  }

  /** Its own, so that `{ ...context }` has it; made when asked for, since few handlers do and it costs more than all the rest. */
  static readonly #signal: PropertyDescriptor & ThisType<Context> = {
    enumerable: true,
    get() {
      return this.#run.signal
    },
  }
}

class Batch {
  declare readonly signal: AbortSignal
  readonly #run: HandlerRun
  readonly messages: readonly Item[]
  readonly tx: unknown
  readonly log: Logger

  constructor(run: HandlerRun, tx: unknown, log: Logger) {
    this.#run = run
    this.messages = run.items.map((item) => new Item(item))
    this.tx = tx
    this.log = log
    Object.defineProperty(this, 'signal', Batch.#signal)
  }

  static readonly #signal: PropertyDescriptor & ThisType<Batch> = {
    enumerable: true,
    get() {
      return this.#run.signal
    },
  }
}
