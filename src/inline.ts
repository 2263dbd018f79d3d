import { systemClock } from './clock.ts'
import { backoffMs } from './core/backoff.ts'
import type { Key, Reason, Result } from './core/record.ts'
import { readResult, type RememberedFailure } from './core/result.ts'
import type { DurationMs } from './core/units.ts'
import { definitionOf, type Consumer } from './define-consumer.ts'
import { systemEntropy } from './entropy.ts'
import { ConfigError, describeError } from './errors.ts'
import { STOP_DEADLINE_MS, type Health, type LifecycleState, type Running, type StopOptions } from './lifecycle.ts'
import { checkText, givenOf } from './option-checks.ts'
import type { ResolvedConsumer } from './resolve-options.ts'
import { Pipeline } from './pipeline/pipeline.ts'
import { RESULT_UNREADABLE } from './pipeline/remember.ts'
import type { Clock } from './ports/clock.ts'
import type { Entropy } from './ports/entropy.ts'
import type { Message } from './ports/message.ts'
import type { ObserverEvent, Outcome } from './ports/observer.ts'
import type { Capacity, DeadLetter, Delivery, Publisher, SourceEvent } from './ports/source.ts'

/** How a delivery ended, and what its owner is to tell the broker. */
export interface Settlement {
  readonly outcome: Outcome
  /**
   * `ack`: done with it. `retry`: have it delivered again. `dead-letter`: move it to a dead-letter place, confirmed, and only
   * then be done with it; the record that says so is written already, so each further delivery asks for the same.
   */
  readonly settle: 'ack' | 'retry' | 'dead-letter'
  /** With `retry`, where the caller waits between attempts: not before so many milliseconds. */
  readonly retryAfterMs?: DurationMs
  /** Why it was, or is to be, dead-lettered. */
  readonly reason?: Reason
  /** With `dead-letter`: what the copy's headers should say. */
  readonly letter?: DeadLetter
  /**
   * What the handler returned, as JSON keeps it, where that is remembered: of the run that had the effect, whether it was this
   * delivery's or one long ago. There (`'result' in settlement`) also where it is `undefined`.
   */
  readonly result?: unknown
  /** In place of a result: the failure that is remembered as the answer. */
  readonly failure?: RememberedFailure
}

/** A delivery whose owner is told how it ended. One message object is under way once. */
export interface InlineDelivery extends Delivery {
  /** Called once, after `settle()` where that is called at all. Must not throw. */
  ended(settlement: Settlement): void
}

export interface InlineOptions {
  /** Consumer group or queue: part of the scope, so of every key. */
  readonly group: string
  /**
   * Publishes dead letters, confirmed. Left out: the caller does, wherever a settlement says `dead-letter`.
   */
  readonly publisher?: Publisher
  /**
   * Where a failed message waits for its next attempt. `here`: in its lane, holding up only its own key, until it is handled
   * or its attempts are spent. `caller`: it ends as `retry` with `retryAfterMs`. @defaultValue `here`
   */
  readonly retry?: 'here' | 'caller'
  /** @defaultValue the system's */
  readonly clock?: Clock
  /** @defaultValue the system's */
  readonly entropy?: Entropy
}

/** A consumer without a source: its caller brings the deliveries, and settles them. `ready()` is `open()`. */
export interface InlineRunning extends Running {
  readonly capacity: Capacity
  /**
   * Opens the store. Shared and idempotent; after a failure the next call tries again, after `stop()` it does nothing.
   *
   * @throws what the store's `open()` rejects with
   */
  open(): Promise<void>
  /**
   * Takes one message all the way, and resolves when it has ended. Many at once: those of one lane are handled in turn. While
   * the store is down, or another owner is busy with it, it waits; it never rejects for an expected outcome, and after
   * `stop()` ends as `retry`.
   *
   * @throws what the store's `open()` rejects with, or TypeError for what is no message; it was not touched then
   */
  handle(message: Message, options?: { readonly lane?: string | undefined }): Promise<Settlement>
  /** For adapters: takes deliveries over, in this order, when `open()` has resolved. */
  deliver(deliveries: readonly InlineDelivery[]): void
  /** For adapters: the standing of earlier deliveries may have changed. */
  standingChanged(): void
  /** For adapters: tells observer and log. */
  report(event: SourceEvent): void
}

/**
 * Runs a consumer for people who own the consume loop and the ack. Weaker than `runConsumer`, which refuses a settle whose
 * partition or channel is gone: here nothing can, so a settlement is for the channel or assignment that brought the message.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function runInline(consumer: Consumer, options: InlineOptions): InlineRunning {
  const definition = checkedDefinition(consumer)
  const problems: string[] = []
  checkText('group', givenOf(options).group, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return new RunningInline(definition, options)
}

function checkedDefinition(consumer: Consumer): ResolvedConsumer {
  const definition = definitionOf(consumer)
  if (definition.store.strategy === 'offsets') {
    throw new ConfigError([
      `consumer ${JSON.stringify(definition.name)}: expected a store of strategy lease or inbox, got offsets: its positions must be sought, which whoever owns the consume loop cannot be made to do. Use runKafka`,
    ])
  }
  return definition
}

/** Only what the pipeline, or an ID extractor, would fall over. @throws TypeError */
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

type DeliveryEvent = Extract<ObserverEvent, { type: 'delivery' }>

/** What the caller must do in place of a publisher. */
type Errand = Pick<Settlement, 'settle' | 'retryAfterMs' | 'letter'>

class RunningInline implements InlineRunning {
  readonly #definition: ResolvedConsumer
  readonly #pipeline: Pipeline
  /** Every delivery that has not ended. */
  readonly #underWay = new Map<Message, InlineDelivery>()
  /** By the message that a copy would have been made of. */
  readonly #errands = new WeakMap<Message, Errand>()
  /** What the deliveries that had joined it end with too: they are told of right after it. */
  #lastEnd: { readonly key: Key; readonly settlement: Settlement } | undefined
  #state: LifecycleState = 'idle'
  #isStoreOpen = false
  #opening: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  constructor(definition: ResolvedConsumer, options: InlineOptions) {
    const { group, publisher, retry = 'here', clock = systemClock, entropy = systemEntropy } = options
    this.#definition = definition
    const observe = (event: ObserverEvent): void => {
      if (event.type === 'delivery') this.#ended(event)
      definition.observe(event)
    }
    this.#pipeline = new Pipeline({
      consumer: { ...definition, observe },
      group,
      publisher: this.#publisherFor(publisher, retry, entropy),
      clock,
      entropy,
      isBoundBySource: true,
      setPaused: () => {}, // Whoever brings the messages waits for their ends.
    })
  }

  get state(): LifecycleState {
    return this.#state
  }

  get capacity(): Capacity {
    return this.#pipeline.capacity
  }

  ready(): Promise<void> {
    return this.open()
  }

  open(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.resolve()
    if (this.#opening !== undefined) return this.#opening
    const opening = this.#open()
    this.#opening = opening
    opening.catch(() => {
      this.#opening = undefined
    })
    return opening
  }

  async handle(message: Message, { lane }: { readonly lane?: string | undefined } = {}): Promise<Settlement> {
    checkMessage(message)
    if (this.#state !== 'running') await this.open()
    return new Promise((ended) => {
      const own = this.#underWay.has(message) ? copyOf(message) : message
      this.deliver([{ message: own, lane, standing: () => 'current', settle: () => true, ended }])
    })
  }

  deliver(deliveries: readonly InlineDelivery[]): void {
    for (const delivery of deliveries) this.#underWay.set(delivery.message, delivery)
    this.#pipeline.deliver(deliveries)
  }

  standingChanged(): void {
    this.#pipeline.standingChanged()
  }

  report(event: SourceEvent): void {
    this.#pipeline.report(event)
  }

  stop({ deadlineMs = STOP_DEADLINE_MS }: StopOptions = {}): Promise<void> {
    // Assigned before the first await: two calls in one turn get the same promise.
    this.#stopped ??= this.#drain(deadlineMs)
    return this.#stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  health(): Health {
    const { line, stuck, isBroken, isHeldUp, handlersCheck, settledWithoutRun } = this.#pipeline
    return {
      live: stuck === 0 && !isBroken,
      ready: this.#state === 'running' && !line.isDown && !isHeldUp,
      state: this.#state,
      checks: {
        source: 'settled by its caller',
        store: line.isDown ? 'down' : this.#isStoreOpen ? 'ok' : 'not open',
        handlers: handlersCheck,
      },
      partitions: [],
      counts: { 'settled-without-run': settledWithoutRun },
    }
  }

  async #open(): Promise<void> {
    this.#state = 'starting'
    try {
      await this.#definition.store.open()
      this.#isStoreOpen = true
      if (this.#stopped !== undefined) return
      this.#state = 'running'
      this.#pipeline.purger.start()
    } catch (error) {
      if (this.#stopped === undefined) this.#state = 'idle'
      throw error
    }
  }

  async #drain(deadlineMs: DurationMs): Promise<void> {
    this.#state = 'draining'
    try {
      await this.#pipeline.drain(deadlineMs)
    } finally {
      this.#state = 'stopped'
    }
  }

  /** Where the caller does what a publisher would, a copy counts as confirmed when it is noted down for the caller. */
  #publisherFor(publisher: Publisher | undefined, retry: 'here' | 'caller', entropy: Entropy): Publisher {
    const deadLetter: Publisher['deadLetter'] =
      publisher === undefined
        ? async (letter) => this.#note(letter.message, { settle: 'dead-letter', letter })
        : (letter) => publisher.deadLetter(letter)
    if (retry === 'here') return publisher ?? { deadLetter }
    return {
      deadLetter,
      retryDelayMs: (attempts) => backoffMs(attempts, this.#definition.retry, entropy.fraction()),
      retryLater: async ({ message, delayMs }) => this.#note(message, { settle: 'retry', retryAfterMs: delayMs }),
    }
  }

  #note(message: Message, errand: Errand): void {
    this.#errands.set(message, errand)
  }

  #ended(event: DeliveryEvent): void {
    const { message, key } = event
    const settlement = this.#settlementOf(event)
    if (key !== undefined && !isJoined(event)) this.#lastEnd = { key, settlement }
    const delivery = this.#underWay.get(message)
    this.#underWay.delete(message)
    delivery?.ended(settlement)
  }

  #settlementOf(event: DeliveryEvent): Settlement {
    const { message, key, outcome, refused, reason, copied, result } = event
    if (isJoined(event)) {
      // Also what must be dead-lettered: the first delivery may be one whose settle comes to nothing.
      const joined = this.#lastEnd?.key === key ? this.#lastEnd?.settlement : undefined
      if (joined === undefined) return { outcome, settle: 'retry' }
      return joined.letter === undefined
        ? { ...joined, outcome }
        : { ...joined, outcome, letter: { ...joined.letter, message } }
    }
    const came = refused ?? outcome
    const settle = came === 'handed-back' && copied ? 'ack' : SETTLE[came]
    const errand = this.#errands.get(message)
    this.#errands.delete(message)
    // What was handed back meanwhile is no errand any more.
    return {
      outcome,
      settle,
      ...(settle === 'ack' ? errand : {}),
      ...(reason === undefined ? {} : { reason }),
      ...(result === undefined ? {} : this.#remembered(result)),
    }
  }

  /** What nobody can read must not keep its delivery from ending. */
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

/** Where the caller has no errand. */
const SETTLE: Readonly<Record<Outcome, Settlement['settle']>> = {
  handled: 'ack',
  duplicate: 'ack',
  'dead-lettered': 'ack',
  parked: 'ack',
  failed: 'ack',
  'handed-back': 'retry',
  'lease-lost': 'retry',
  joined: 'retry',
  'settle-refused': 'retry',
}

function isJoined({ outcome, refused }: DeliveryEvent): boolean {
  return (refused ?? outcome) === 'joined'
}

/** Field by field: a message may read its own by getters, which a spread would lose. */
function copyOf(message: Message): Message {
  const { system, destination, origin, position, key, value, headers, messageId, timestamp, redelivered } = message
  return { system, destination, origin, position, key, value, headers, messageId, timestamp, redelivered }
}
