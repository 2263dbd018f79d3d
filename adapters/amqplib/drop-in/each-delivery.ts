import {
  openInline,
  optionsOf,
  runInline,
  SourceEvents,
  stopBy,
  type Consumer,
  type DeliveryWatch,
  type DurationMs,
  type Health,
  type InlineRunning,
  type Publisher,
  type Settlement,
  type StopOptions,
} from '../../../src/internal.ts'
import { laneFrom } from '../message/lane.ts'
import { REFUSES_DEAD_LETTERS, rabbitDeadLetters } from './dead-letters.ts'
import { rabbitMessage, type ForeignMessage } from './foreign-message.ts'
import type { RabbitDropIn } from './index.ts'
import { ON_MESSAGE, problemsOfDeadLetter, type OnMessageOptions } from './options.ts'

export type EachDelivery = ((message: ForeignMessage, watch?: DeliveryWatch) => Promise<Settlement>) & RabbitDropIn

/**
 * For a framework that acks by itself, such as NestJS: takes a delivery through the whole protocol and resolves with what
 * to tell the broker: `ack` when its mark is durable or its dead letter is confirmed, `dead-letter` (reject without
 * requeue) with `deadLetter: 'reject'`, and `retry` (give it back) after `stop()`. Failures are retried inside, and the
 * delivery stays unacked meanwhile. It never rejects for an expected outcome.
 *
 * Weaker than `runRabbit`: settle on the channel that delivered, and not after it has closed. A channel that closes does
 * not abort a running handler; its redelivery joins it, or is a duplicate.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 */
export function eachDelivery(consumer: Consumer, options: OnMessageOptions = {}): EachDelivery {
  const taking = new TakenDeliveries(consumer, options)
  const take = (raw: ForeignMessage, watch?: DeliveryWatch): Promise<Settlement> => taking.take(raw, watch)
  const stop = (stopOptions?: StopOptions): Promise<void> => taking.stop(stopOptions)
  return Object.assign(take, { stop, health: () => taking.health(), [Symbol.asyncDispose]: () => stop() })
}

class TakenDeliveries {
  readonly #queue: string
  readonly #lane: OnMessageOptions['lane']
  readonly #inline: InlineRunning
  readonly #events = new SourceEvents<string>([])
  readonly #stopping = new AbortController()
  readonly #opened: Promise<boolean>
  #stopped: Promise<void> | undefined

  constructor(consumer: Consumer, options: OnMessageOptions) {
    const { queue, lane, deadLetter } = optionsOf('eachDelivery', ON_MESSAGE, options, problemsOfDeadLetter)
    this.#queue = queue ?? (consumer as Consumer | undefined)?.name ?? ''
    this.#lane = lane
    const publisher = publisherFor(deadLetter)
    this.#inline = runInline(consumer, { group: this.#queue, ...(publisher && { publisher }) })
    this.#events.begin(this.#inline)
    const report = (event: string, detail: string): void => this.#events.report(event, detail)
    this.#opened = openInline(this.#inline, { signal: this.#stopping.signal, report })
  }

  async take(raw: ForeignMessage, watch: DeliveryWatch | undefined): Promise<Settlement> {
    const message = rabbitMessage(raw, { queue: this.#queue })
    watch?.made(message)
    await this.#opened
    const settlement = await this.#inline.handle(message, { lane: laneFrom(this.#lane, message, this.#events) })
    watch?.ended(settlement)
    return settlement
  }

  stop(options?: StopOptions): Promise<void> {
    return stopBy(options, (deadlineMs) => {
      this.#stopped ??= this.#stop(deadlineMs)
      return this.#stopped
    })
  }

  health(): Health {
    return { ...this.#inline.health(), counts: this.#events.counts }
  }

  #stop(deadlineMs: DurationMs): Promise<void> {
    this.#stopping.abort()
    return this.#inline.stop({ deadlineMs })
  }
}

/** `undefined`: the framework rejects the message. */
function publisherFor(deadLetter: OnMessageOptions['deadLetter']): Publisher | undefined {
  if (deadLetter === undefined) return REFUSES_DEAD_LETTERS
  return deadLetter === 'reject' ? undefined : rabbitDeadLetters(deadLetter.publisher, deadLetter.queue)
}
