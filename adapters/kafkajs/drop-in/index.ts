import {
  BrokerError,
  ConfigError,
  describeError,
  openInline,
  runInline,
  stopBy,
  type Consumer,
  type DeliveryWatch,
  type DurationMs,
  type Health,
  type InlineRunning,
  type Running,
  type StopOptions,
} from '../../../src/internal.ts'
import { DropInCall, type Handover } from './call.ts'
import { resolveDropIn, type DropInOptions, type ResolvedDropIn } from './options.ts'
import { DropInPublisher } from './publisher.ts'
import { makesJoinAgain } from '../../kafka/protocol-error.ts'
import { endBatchBefore } from './early-return.ts'
import { decodeForAll, decodeForAllOfInstalled, uncheckedIn } from '../fetch/own-decoder.ts'
import type { DropInBatchPayloadLike, EachMessagePayloadLike } from '../kafkajs-like.ts'

/** Stop and health of a drop-in function. Your kafkajs consumer remains yours to stop. */
export interface DropIn extends Pick<Running, 'stop' | 'health'>, AsyncDisposable {}

/** kafkajs gives the payload only. */
export type EachMessage = ((payload: EachMessagePayloadLike, watch?: DeliveryWatch) => Promise<void>) & DropIn
export type EachBatch = ((payload: DropInBatchPayloadLike) => Promise<void>) & DropIn

/**
 * For a kafkajs consumer of your own: `consumer.run({ eachMessage: eachMessage(sms) })`. The function returns when the
 * mark of a message is durable or its dead letter is confirmed. It retries failures inside, with heartbeats, so kafkajs
 * sees few errors, none that ends it for good, and commits no unfinished message.
 *
 * Prefer `runKafka`: this form is weaker, because kafkajs owns position and commit. After a rejoin while handlers run,
 * kafkajs may commit an offset of a partition that belongs to another member by then, forwards or backwards. It may
 * skip messages after a rejoin on several brokers. If its offset is out of range, it starts again, with `fromBeginning:
 * false` at the end. The first fault causes duplicates, which the store detects. The others can lose messages, and
 * nothing here notices. `ctx.signal` does not abort when the partition is lost. It handles one message of a partition
 * at a time; `eachBatch` is faster.
 *
 * Leave `autoCommit` on, and use one function for one consumer. Stop both at once: `await Promise.all([consumer.stop(),
 * onMessage.stop()])`. A message that is handed back then is an error to kafkajs, which logs it. If its retries are
 * used up by then, kafkajs restarts the stopped consumer, unless `retry.restartOnFailure` returns false.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 */
export function eachMessage(consumer: Consumer, options: DropInOptions = {}): EachMessage {
  const handler = new DropInHandler(consumer, options, 'eachMessage')
  return withLife(handler, async (payload: EachMessagePayloadLike, watch?: DeliveryWatch) => {
    const { topic, partition, message } = payload
    await handler.take(() => {
      if (message === undefined) throw misplaced('eachMessage', 'eachBatch')
      return {
        topic,
        partition,
        messages: [message],
        watch,
        heartbeat: () => payload.heartbeat(),
        finishedUpTo: () => {},
        commitIfDue: async () => {},
        ending: () => undefined,
        mayReturnBefore: () => false,
      }
    })
  })
}

/**
 * As `eachMessage`, for `consumer.run({ eachBatch: eachBatch(sms), eachBatchAutoResolve: false })`. The messages of a
 * batch are handled in parallel, in the order that `order` requires, and claimed and marked together. An offset is
 * resolved when everything up to it is finished. If the consumer stops or seeks in the middle of a batch, messages that
 * have not begun are redelivered. That also works without `eachBatchAutoResolve: false`, unless you pass a copy of
 * kafkajs's batch.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 */
export function eachBatch(consumer: Consumer, options: DropInOptions = {}): EachBatch {
  const handler = new DropInHandler(consumer, options, 'eachBatch')
  return withLife(handler, async (payload: DropInBatchPayloadLike) => {
    await handler.take(() => {
      const { batch } = payload
      if (batch === undefined) throw misplaced('eachBatch', 'eachMessage')
      return {
        topic: batch.topic,
        partition: batch.partition,
        messages: batch.messages,
        heartbeat: () => payload.heartbeat(),
        finishedUpTo: (offset) => payload.resolveOffset(offset),
        commitIfDue: () => payload.commitOffsetsIfNecessary(),
        ending: () => endingOf(payload),
        mayReturnBefore: (offset) => endBatchBefore(batch, offset),
      }
    })
  })
}

/** Shared by all calls of a function: messages of earlier calls may still run. */
class DropInHandler {
  readonly #options: ResolvedDropIn
  readonly #inline: InlineRunning
  readonly #publisher: DropInPublisher | undefined
  readonly #stopping = new AbortController()
  /** Until the decoder of kafkajs is replaced. */
  #replacing: Promise<unknown> | undefined
  /** Shared by all calls: each partition has a call under way. */
  #opening: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  constructor(consumer: Consumer, options: DropInOptions, of: string) {
    this.#options = resolveDropIn(options, of)
    const { kafka, group: groupId, checkFetches } = this.#options
    if (checkFetches && (kafka === undefined || !decodeForAll(kafka))) this.#replacing = decodeForAllOfInstalled()
    this.#publisher = kafka && new DropInPublisher(kafka, this.#options)
    const group = groupId ?? (consumer as Consumer | undefined)?.name ?? ''
    this.#inline = runInline(consumer, { group, ...(this.#publisher && { publisher: this.#publisher }) })
  }

  async take(handover: () => Handover): Promise<void> {
    try {
      if (this.#replacing !== undefined) await this.#replacing
      this.#replacing = undefined
      const taken = handover()
      if (this.#options.checkFetches) this.#refuseUnchecked(taken)
      this.#publisher?.admit(taken.topic)
      const { order, heartbeatEveryMs } = this.#options
      const storeOpened = (): Promise<void> => (this.#opening ??= this.#openStore())
      await new DropInCall(taken, { inline: this.#inline, storeOpened, order, heartbeatEveryMs }).run()
    } catch (error) {
      throw survivable(error)
    }
  }

  /** kafkajs fetches the messages again, with the decoder that was just replaced, if that could be done. */
  #refuseUnchecked({ topic, partition, messages }: Handover): void {
    const unchecked = uncheckedIn(messages)
    if (unchecked === undefined) return
    const detail = `${topic}/${partition}: the message at offset ${unchecked.offset} is part of a transaction, and whether that was aborted cannot be checked in this copy of kafkajs. Give the option kafka, or checkFetches: false`
    this.#inline.report({ type: 'source', event: 'fetch-unchecked', detail, isWarning: true })
    throw new BrokerError('BROKER_UNREACHABLE', detail)
  }

  stop(options?: StopOptions): Promise<void> {
    return stopBy(options, (deadlineMs) => {
      this.#stopped ??= this.#stop(deadlineMs)
      return this.#stopped
    })
  }

  health(): Health {
    return this.#inline.health()
  }

  async #openStore(): Promise<void> {
    const report = (event: string, detail: string): void =>
      this.#inline.report({ type: 'source', event, detail, isWarning: true })
    await openInline(this.#inline, { signal: this.#stopping.signal, report })
  }

  async #stop(deadlineMs: DurationMs): Promise<void> {
    this.#stopping.abort()
    try {
      await this.#inline.stop({ deadlineMs })
    } finally {
      await this.#publisher?.close()
    }
  }
}

function withLife<F extends (payload: never, watch?: DeliveryWatch) => Promise<void>>(
  handler: DropInHandler,
  take: F,
): F & DropIn {
  const stop = (options?: StopOptions): Promise<void> => handler.stop(options)
  return Object.assign(take, { stop, health: () => handler.health(), [Symbol.asyncDispose]: () => stop() })
}

function endingOf(payload: DropInBatchPayloadLike): string | undefined {
  if (!payload.isRunning()) return 'the consumer stops'
  return payload.isStale() ? 'the consumer seeks another offset' : undefined
}

function misplaced(here: string, there: string): ConfigError {
  return new ConfigError([
    `${here}: expected the payload of kafkajs's ${here}, got another one; give ${there}(consumer) to run({ ${there} })`,
  ])
}

/** Names of errors after which kafkajs ends its consumer for good, while the process lives on. */
const FATAL_TO_KAFKAJS: readonly string[] = [
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'KafkaJSNotImplemented',
  'KafkaJSNoBrokerAvailableError',
]

/** Returns an error of kafkajs unchanged if it makes kafkajs rejoin or retry. */
function survivable(error: unknown): Error {
  if (error instanceof Error && !isFatal(error)) return error
  return new BrokerError('BROKER_UNREACHABLE', `kafkajs could not go on: ${describeError(error)}`, { cause: error })
}

function isFatal(error: Error): boolean {
  const { type, retriable } = error as { readonly type?: unknown; readonly retriable?: unknown }
  if (typeof type === 'string' && makesJoinAgain(type)) return false
  return retriable === false || FATAL_TO_KAFKAJS.includes(error.name)
}
