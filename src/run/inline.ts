import { isDone } from '../ports/outcome.ts'
import { backoffMs } from '../core/backoff.ts'
import type { Reason, Result } from '../core/record.ts'
import { readResult, type RememberedFailure } from '../core/result.ts'
import type { DurationMs } from '../core/units.ts'
import { OF_THE_CONSUMER } from '../consumer/consumer-table.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError, describeError } from '../foundation/errors.ts'
import type { Pausable, Running, StartResult, StopOptions } from '../ports/lifecycle.ts'
import { Standing } from './standing.ts'
import { Start } from './start.ts'
import { stopBy } from './stop-options.ts'
import {
  ELSEWHERE,
  having,
  needed,
  oneOf,
  optionsOf,
  or,
  plainText,
  refuse,
  where,
  type Complete,
  type Table,
  nowCalled,
} from '../foundation/options.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import { problemsOfRetryPlace } from '../consumer/when-busy.ts'
import { RESULT_UNREADABLE } from '../execution/kept.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Health, LifecycleState } from '../ports/health.ts'
import type { Message } from '../ports/message.ts'
import type { Outcome } from '../ports/outcome.ts'
import type { Capacity, DeadLetter, Delivery, DeliveryEnd, Publisher, RetryCopy, SourceEvent } from '../ports/source.ts'

/** How a delivery ended, and what its caller must tell the broker. */
export interface Settlement {
  readonly outcome: Outcome
  /**
   * `ack`: acknowledge the message. `retry`: have it delivered again. `dead-letter`: publish it to a dead-letter place,
   * wait for the confirm, then acknowledge it. Its record is already set aside, so every further delivery asks for the
   * same.
   */
  readonly settle: 'ack' | 'retry' | 'dead-letter'
  /** With `retry` and the option `retryWaits: 'caller'`: the shortest wait before the next delivery, in milliseconds. */
  readonly retryAfterMs?: DurationMs
  /** Why the message was, or must be, dead-lettered. */
  readonly reason?: Reason
  /** With `dead-letter`: the contents for the headers of the copy. */
  readonly deadLetter?: DeadLetter
  /**
   * With `rememberResult`: the value that the handler returned in the run that had the effect, now or earlier, as JSON
   * keeps it. The property exists (`'result' in settlement`) even when the value is `undefined`.
   */
  readonly result?: unknown
  /** Instead of a result: the failure that was remembered as the answer. */
  readonly failure?: RememberedFailure
}

export interface InlineOptions {
  /** Consumer group or queue: part of the scope, so of every key. */
  readonly group: string
  /**
   * Publishes dead letters and waits for the confirm. Without it the caller publishes them when a settlement says
   * `dead-letter`.
   */
  readonly publisher?: Publisher
  /**
   * Where a failed message waits for its next attempt. `here`: in its lane, where it holds up only its own key, until
   * it is handled or its attempts are spent. `caller`: its delivery ends as `retry` with `retryAfterMs`. @defaultValue
   * `here`
   */
  readonly retryWaits?: 'here' | 'caller'
  /** @defaultValue the system clock */
  readonly clock?: Clock
  /** @defaultValue the system source */
  readonly entropy?: Entropy
}

/**
 * A consumer without a source: the caller brings the deliveries and settles them. `ready()` is the same as `open()`. It has
 * no intake to pause: pause the consumer of your client.
 */
export interface InlineRunning extends Omit<Running, keyof Pausable> {
  readonly capacity: Capacity
  /** Messages that wait for the rate of the option `limit`. */
  readonly limited: number
  /**
   * Opens the store. All calls share one promise. After a failure the next call tries again. Resolves with `stopped` as
   * soon as `stop()` is called before the store is open, and after that.
   *
   * @throws any error of the store's `open()`
   */
  open(): Promise<StartResult>
  /**
   * Handles one message and resolves with its settlement. Calls may overlap; messages of one lane run one after the
   * other. While the store is down, another owner is busy with the message, or the consumer holds (option `hold`), the
   * call waits. It never rejects for an
   * expected outcome, and resolves with `retry` after `stop()`.
   *
   * @throws any error of the store's `open()`, or TypeError if `message` is not a Message; the message was not touched
   * then
   */
  handle(message: Message, options?: { readonly lane?: string | undefined }): Promise<Settlement>
  /** For adapters: accepts deliveries, in this order, once `open()` has resolved. */
  deliver(deliveries: readonly Delivery[]): void
  /** For adapters: the settlement for the end of a delivery, see `Delivery.onEnd`. */
  settlementOf(end: DeliveryEnd, message: Message): Settlement
  /** For adapters: the standing of earlier deliveries may have changed. */
  standingChanged(): void
  /** For adapters: passes an event to the observer and the log. */
  report(event: SourceEvent): void
}

/**
 * Runs a consumer for applications that own the consume loop and the ack. It is weaker than `runConsumer`, which
 * refuses a settle after the partition was revoked or the channel closed. Here the caller must settle on the channel or
 * assignment that delivered the message.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function runInline(consumer: Consumer, options: InlineOptions): InlineRunning {
  const definition = checkedDefinition(consumer)
  return new RunningInline(definition, optionsOf('runInline', INLINE, options))
}

const INLINE: Table<InlineOptions, 'publisher'> = {
  group: needed(plainText()),
  publisher: having('one that publishes dead letters, with the function deadLetter', 'deadLetter'),
  retryWaits: or('here', oneOf('here', 'caller')),
  clock: clockOption(),
  entropy: entropyOption(),
  [ELSEWHERE]: { ...OF_THE_CONSUMER, retry: nowCalled('retryWaits') },
}

const HANDLE: Table<{ readonly lane?: string | undefined }, 'lane'> = {
  lane: where('text', (value) => typeof value === 'string'),
}

/** Once for each message: nothing is made where all is right. */
function isLane(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false
  for (const name in options) if (name !== 'lane') return false
  const { lane } = options as { readonly lane?: unknown }
  return lane === undefined || typeof lane === 'string'
}

const NO_RETRY_PLACE = "its caller takes it back with retryWaits: 'caller' of runInline; or leave whenBusy out"

function checkedDefinition(consumer: Consumer): ResolvedConsumer {
  const definition = definitionOf(consumer)
  if (definition.store.strategy === 'offsets') {
    throw new ConfigError([
      `consumer ${JSON.stringify(definition.name)}: expected a store of strategy lease or inbox, got offsets: its positions must be sought, and runInline cannot seek, because the caller owns the consume loop. Use runKafka`,
    ])
  }
  return definition
}

/** Checks only the fields that the pipeline or an ID extractor would crash on. @throws TypeError */
function checkMessage(message: unknown): asserts message is Message {
  if (typeof message !== 'object' || message === null) throw expected('message', 'a Message object', message)
  const { destination, origin, position, key, value, headers } = message as Readonly<Record<string, unknown>>
  if (typeof destination !== 'string') throw expected('message.destination', 'text', destination)
  if (typeof origin !== 'string') throw expected('message.origin', 'text', origin)
  if (typeof position !== 'string') throw expected('message.position', 'text', position)
  if (!isBytesOrNull(key)) throw expected('message.key', 'bytes or null', key)
  if (!isBytesOrNull(value)) throw expected('message.value', 'bytes or null', value)
  if (typeof headers !== 'object' || headers === null) throw expected('message.headers', 'an object', headers)
}

function isBytesOrNull(value: unknown): boolean {
  return value === null || ArrayBuffer.isView(value)
}

function expected(name: string, what: string, got: unknown): TypeError {
  return new TypeError(`${name}: expected ${what}, got ${got === null ? 'null' : typeof got}`)
}

/** The caller calls in the context of its message. */
function here<T>(work: () => T): T {
  return work()
}

class RunningInline implements InlineRunning {
  readonly #definition: ResolvedConsumer
  readonly #pipeline: Pipeline
  readonly #standing: Standing
  /** Publishes dead letters; without it the caller does. */
  readonly #publisher: Publisher | undefined
  readonly #retryWaits: 'here' | 'caller'
  #state: LifecycleState = 'idle'
  #opening: Start | undefined
  #stopped: Promise<void> | undefined

  constructor(definition: ResolvedConsumer, options: Complete<InlineOptions, 'publisher'>) {
    const { group, publisher, retryWaits, clock, entropy } = options
    this.#definition = definition
    this.#publisher = publisher
    this.#retryWaits = retryWaits
    const copies = this.#publisherWith(entropy)
    const problems = problemsOfRetryPlace(definition, copies, NO_RETRY_PLACE)
    refuse(`consumer ${JSON.stringify(definition.name)}`, problems)
    this.#pipeline = new Pipeline({
      consumer: definition,
      group,
      publisher: copies,
      clock,
      entropy,
      isBoundBySource: true,
      setPaused: () => {}, // The caller waits for the end of each message, so there is no intake to pause.
    })
    this.#standing = new Standing(definition, this.#pipeline)
    this.#pipeline.started(() => this.health())
  }

  get state(): LifecycleState {
    return this.#standing.stateIn(this.#state)
  }

  get capacity(): Capacity {
    return this.#pipeline.capacity
  }

  get limited(): number {
    return this.#pipeline.limiter?.waiting ?? 0
  }

  ready(): Promise<StartResult> {
    return this.open()
  }

  open(): Promise<StartResult> {
    if (this.#stopped !== undefined) return Promise.resolve('stopped')
    this.#opening ??= new Start({
      work: () => this.#open(),
      failed: async () => this.#failed(),
      failedLate: () => {}, // A store that is not open has nothing to write after a stop.
    })
    return this.#opening.result
  }

  async handle(message: Message, options: { readonly lane?: string | undefined } = {}): Promise<Settlement> {
    checkMessage(message)
    if (!isLane(options)) optionsOf('handle', HANDLE, options)
    const { lane } = options
    if (this.#state !== 'running') await this.open()
    return new Promise((resolve) => {
      const onEnd = (end: DeliveryEnd): void => resolve(this.settlementOf(end, message))
      this.deliver([{ message, lane, within: here, standing: () => 'current', settle: () => true, onEnd }])
    })
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.#pipeline.deliver(deliveries)
  }

  standingChanged(): void {
    this.#pipeline.standingChanged()
  }

  report(event: SourceEvent): void {
    this.#pipeline.report(event)
  }

  stop(options?: StopOptions): Promise<void> {
    return stopBy(options, (deadlineMs) => {
      // Assigned before the first await, so that two calls in one turn get the same promise.
      this.#stopped ??= this.#drain(deadlineMs)
      return this.#stopped
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  health(): Health {
    const takesMore = !this.#pipeline.line.isDown || this.#definition.onStoreDown !== 'pause'
    return this.#standing.health({
      state: this.state,
      source: { ready: takesMore, detail: 'settled by its caller' },
    })
  }

  async #open(): Promise<void> {
    this.#state = 'starting'
    await this.#standing.openStore()
    if (this.#stopped !== undefined) return
    this.#state = 'running'
    this.#standing.started()
  }

  #failed(): void {
    this.#opening = undefined
    this.#state = 'idle'
  }

  async #drain(deadlineMs: DurationMs): Promise<void> {
    this.#state = 'draining'
    this.#opening?.stop()
    const until = this.#pipeline.clock.monotonic() + deadlineMs
    try {
      await this.#pipeline.drain(deadlineMs)
      const published = this.#standing.stopped(until - this.#pipeline.clock.monotonic())
      if (published !== undefined) await published
    } finally {
      this.#state = 'stopped'
      this.#pipeline.stopped()
    }
  }

  /** A copy that the caller will publish counts as confirmed at once. */
  #publisherWith(entropy: Entropy): Publisher {
    const publisher = this.#publisher
    const deadLetter: Publisher['deadLetter'] = async (copy) => publisher?.deadLetter(copy)
    if (this.#retryWaits === 'here') return publisher ?? { deadLetter }
    return {
      deadLetter,
      retryDelayMs: (attempts) => backoffMs(attempts, this.#definition.backoff, entropy.fraction()),
      retryLater: async () => {},
      laneWaitMs: 0,
    }
  }

  settlementOf({ outcome, endedAs, copy, reason, result }: DeliveryEnd, message: Message): Settlement {
    return {
      outcome,
      ...(copy === undefined ? { settle: isDone(endedAs) ? 'ack' : 'retry' } : this.#instead(copy, message)),
      ...(reason === undefined ? {} : { reason }),
      ...(result === undefined ? {} : this.#remembered(result)),
    }
  }

  /** What the caller does for a message that a copy replaces. */
  #instead(copy: DeadLetter | RetryCopy, message: Message): Pick<Settlement, 'settle' | 'retryAfterMs' | 'deadLetter'> {
    if ('parked' in copy) {
      return this.#publisher ? { settle: 'ack' } : { settle: 'dead-letter', deadLetter: { ...copy, message } }
    }
    return this.#retryWaits === 'here' ? { settle: 'ack' } : { settle: 'retry', retryAfterMs: copy.delayMs }
  }

  /** A result that cannot be read must not keep its delivery from ending. */
  #remembered(result: Result): Pick<Settlement, 'result' | 'failure'> {
    try {
      const remembered = readResult(result)
      return remembered.kind === 'value' ? { result: remembered.value } : { failure: remembered.failure }
    } catch (error) {
      this.report({ type: 'source', event: 'result-unreadable', detail: describeError(error), isWarning: true })
      return { failure: RESULT_UNREADABLE }
    }
  }
}
