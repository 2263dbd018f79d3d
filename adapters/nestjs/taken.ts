import {
  describeError,
  systemClock,
  type DeliveryWatch,
  type DurationMs,
  type Health,
  type Message,
  type Running,
  type Settlement,
} from '../../src/internal.ts'
import type { GolevelupDelivery, KafkaDelivery, RabbitDelivery, TransportDelivery } from './transports.ts'

/** `eachMessage()` of `consume-once/kafkajs`, or `eachDelivery()` of `consume-once/amqplib`. */
export interface Taking extends Pick<Running, 'stop' | 'health'> {
  (delivery: never, watch?: DeliveryWatch): Promise<unknown>
}

/** Classes by which a transport recognizes an answer. Loaded when one is needed, in the format of the application. */
export interface Peers {
  readonly retriableException: () => Promise<new (message: string) => Error>
  readonly nack: () => Promise<new (requeue: boolean) => object>
}

/** The rest of Nest's call: pipes, inner interceptors, and the decorated method. */
export type Next = () => Promise<unknown>

type Run = (context: object) => Promise<unknown>

/** Between two deliveries of a message that was given back, so that they are no hot loop. */
const BEFORE_AGAIN_MS: DurationMs = 500
const BEAT_EVERY_MS: DurationMs = 1_000

/** The end of an application: its consumers stop before its transports do, and still get deliveries meanwhile. */
export class Closing {
  #state: 'open' | 'stopping' | 'closing' = 'open'
  readonly #whenClosing: (() => void)[] = []

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  stop(): void {
    if (this.#state === 'open') this.#state = 'stopping'
  }

  /** The transports close now. */
  close(): void {
    this.#state = 'closing'
    for (const goOn of this.#whenClosing.splice(0)) goOn()
  }

  /** Resolves at once unless the consumers have stopped and the transports still run. */
  async untilClosing(beat: () => Promise<void> = async () => {}): Promise<void> {
    while (this.#state === 'stopping') {
      await new Promise<void>((resolve) => {
        const cancel = systemClock.after(BEAT_EVERY_MS, resolve)
        this.#whenClosing.push(() => {
          cancel()
          resolve()
        })
      })
      if (this.#state === 'stopping') await beat()
    }
  }
}

/** Routes the run of a message to the call of Nest that brought it. */
export class Runs {
  readonly #runs = new WeakMap<Message, Run>()

  set(message: Message, run: Run): void {
    this.#runs.set(message, run)
  }

  /** The handler of the consumer. */
  run(context: { readonly message: Message }): Promise<unknown> {
    const run = this.#runs.get(context.message)
    if (run === undefined) throw new Error('expected a message of a transport of Nest')
    return run(context)
  }
}

const contexts = new WeakMap<object, object>()

/** The handler's context of a delivery whose handler runs. */
export function contextOf(key: unknown): object | undefined {
  return typeof key === 'object' && key !== null ? contexts.get(key) : undefined
}

/** One decorated method: its consumer, and how its deliveries are settled. */
export class TakenConsumer {
  readonly #taking: Taking
  readonly #runs: Runs
  readonly #closing: Closing

  constructor(taking: Taking, runs: Runs, closing: Closing) {
    this.#taking = taking
    this.#runs = runs
    this.#closing = closing
  }

  stop(options: { readonly deadlineMs: DurationMs }): Promise<void> {
    return this.#taking.stop(options)
  }

  health(): Health {
    return this.#taking.health()
  }

  /** Resolves with what the transport gets as the method's answer. */
  async take(delivery: TransportDelivery, next: Next, peers: Peers): Promise<unknown> {
    const call = new Call(delivery.key, next, this.#runs)
    switch (delivery.transport) {
      case 'kafka':
        return this.#ofKafka(delivery, call, peers)
      case 'rabbitmq':
        return this.#ofRabbit(delivery, call)
      case 'golevelup':
        return this.#ofGolevelup(delivery, call, peers)
    }
  }

  /** kafkajs commits what was returned for, and fetches again what was thrown for. */
  async #ofKafka(delivery: KafkaDelivery, call: Call, peers: Peers): Promise<unknown> {
    try {
      await this.#handOver(delivery.payload, call)
    } catch (error) {
      await this.#closing.untilClosing(() => delivery.payload.heartbeat()).catch(() => {})
      delivery.seekBack()
      throw await retriable(error, peers)
    }
    return call.answer(delivery.isRequest)
  }

  async #ofRabbit({ raw, channel, isRequest }: RabbitDelivery, call: Call): Promise<unknown> {
    switch (await this.#settleOf(raw, call)) {
      case 'ack':
        quietly(() => channel.ack(raw))
        return call.answer(isRequest)
      case 'dead-letter':
        quietly(() => channel.nack(raw, false, false))
        return call.answer(isRequest)
      case 'retry':
        // After a stop it stays unacked: the channel closes soon, and the broker gives it to another process.
        if (this.#closing.isOpen) {
          await pause()
          quietly(() => channel.nack(raw, false, true))
        }
        return isRequest ? new Promise(() => {}) : undefined // Who handles it answers the request.
    }
  }

  async #ofGolevelup({ raw }: GolevelupDelivery, call: Call, peers: Peers): Promise<unknown> {
    const settle = await this.#settleOf(raw, call)
    if (settle === 'ack') return call.answer(false)
    const isAgain = settle === 'retry'
    if (isAgain) {
      await this.#closing.untilClosing()
      await pause()
    }
    return new (await peers.nack())(isAgain)
  }

  async #settleOf(raw: unknown, call: Call): Promise<Settlement['settle']> {
    await this.#handOver(raw, call)
    return call.settlement?.settle ?? 'retry'
  }

  #handOver(delivery: unknown, call: Call): Promise<unknown> {
    return this.#taking(delivery as never, call)
  }
}

/** Nest hands this exception on to kafkajs, also from the handler of a request. kafkajs reads `type`. */
async function retriable(error: unknown, peers: Peers): Promise<Error> {
  const { type, code } = error as { readonly type?: unknown; readonly code?: unknown }
  const Retriable = await peers.retriableException()
  return Object.assign(new Retriable(describeError(error)), { cause: error, type, code })
}

class Call implements DeliveryWatch {
  readonly #key: object
  readonly #next: Next
  readonly #runs: Runs
  #value: unknown
  #settlement: Settlement | undefined

  constructor(key: object, next: Next, runs: Runs) {
    this.#key = key
    this.#next = next
    this.#runs = runs
  }

  get settlement(): Settlement | undefined {
    return this.#settlement
  }

  made(message: Message): void {
    this.#runs.set(message, async (context) => {
      contexts.set(this.#key, context)
      this.#value = await this.#next()
      return this.#value
    })
  }

  ended(settlement: Settlement): void {
    this.#settlement = settlement
  }

  /** What the method returned, now or, with `rememberResult`, in the run that had the effect. */
  answer(isRequest: boolean): unknown {
    const { outcome, result, failure, reason } = this.#settlement ?? {}
    if (isRequest && failure !== undefined) throw new Error(failure.message)
    if (isRequest && reason !== undefined) throw new Error(`the request was not handled: ${reason}`)
    return outcome === 'handled' ? this.#value : result
  }
}

/** The channel may have closed: then the delivery comes again, as a duplicate if it was handled. */
function quietly(settle: () => void): void {
  try {
    settle()
  } catch {
    // Not sent.
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => void systemClock.after(BEFORE_AGAIN_MS, resolve))
}
