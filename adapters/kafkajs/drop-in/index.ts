import { setTimeout as sleep } from 'node:timers/promises'
import {
  backoffMs,
  BrokerError,
  ConfigError,
  describeError,
  runInline,
  systemEntropy,
  type Backoff,
  type Consumer,
  type Health,
  type InlineRunning,
  type Running,
  type StopOptions,
} from '../../../src/index.ts'
import { DropInCall, type Handover } from './call.ts'
import { resolveDropIn, type DropInOptions, type ResolvedDropIn } from './options.ts'
import { DropInPublisher } from './publisher.ts'
import { makesJoinAgain } from '../protocol-error.ts'
import { endBatchBefore } from './early-return.ts'
import type { DropInBatchPayloadLike, EachMessagePayloadLike } from '../slice.ts'

const OPEN_STORE_AGAIN: Backoff = { initialMs: 100, maxMs: 10_000 }

/** The life of a drop-in function; that of your kafkajs consumer stays yours. */
export interface DropIn extends Pick<Running, 'stop' | 'health'>, AsyncDisposable {}

export type EachMessage = ((payload: EachMessagePayloadLike) => Promise<void>) & DropIn
export type EachBatch = ((payload: DropInBatchPayloadLike) => Promise<void>) & DropIn

/**
 * For a kafkajs consumer of your own: `consumer.run({ eachMessage: eachMessage(sms) })`. It returns when the mark of a message
 * is durable or its dead letter confirmed, and retries failures inside, with heartbeats: so kafkajs sees few errors, none that
 * ends it for good, and commits nothing unfinished.
 *
 * Weaker than `runKafka`, which prefer, because kafkajs owns position and commit. After a rejoin while handlers run it may commit
 * an offset of a partition that another member has by now, back or forth; it may skip messages after a rejoin on several
 * brokers; and where its offset is out of range it starts anew, with `fromBeginning: false` at the end. The first costs
 * duplicates, which the store finds out; the others can lose messages, and nothing here notices. `ctx.signal` does not abort
 * for a lost partition. And one message of a partition at a time makes its way to the store and back: `eachBatch` is faster.
 *
 * Leave `autoCommit` on; one function for one consumer. To stop, both at once:
 * `await Promise.all([consumer.stop(), onMessage.stop()])`. A message that is given back then is an error to kafkajs, which it
 * logs; and if its retries are used up by then it starts again what was stopped, unless its `retry.restartOnFailure` says no.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 */
export function eachMessage(consumer: Consumer, options: DropInOptions = {}): EachMessage {
  const handler = new DropInHandler(consumer, options)
  return withLife(handler, async (payload: EachMessagePayloadLike) => {
    const { topic, partition, message } = payload
    await handler.take(() => {
      if (message === undefined) throw misplaced('eachMessage', 'eachBatch')
      return {
        topic,
        partition,
        messages: [message],
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
 * As `eachMessage`, for `consumer.run({ eachBatch: eachBatch(sms), eachBatchAutoResolve: false })`: the messages of a batch are
 * handled side by side, in the order that `order` asks for, and claimed and marked together. Each offset is resolved when
 * everything below it is finished. When the consumer stops or seeks in the middle of a batch, what has not begun is left to
 * come again; so it is also without `eachBatchAutoResolve: false`, unless the batch given here is a copy of kafkajs's own.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 */
export function eachBatch(consumer: Consumer, options: DropInOptions = {}): EachBatch {
  const handler = new DropInHandler(consumer, options)
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

/** What the functions share, over all their calls: messages of earlier calls may still run. */
class DropInHandler {
  readonly #options: ResolvedDropIn
  readonly #inline: InlineRunning
  readonly #publisher: DropInPublisher | undefined
  readonly #stopping = new AbortController()
  /** For all calls: each partition has one under way. */
  #opening: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  constructor(consumer: Consumer, options: DropInOptions) {
    this.#options = resolveDropIn(options)
    const { kafka, groupId } = this.#options
    this.#publisher = kafka && new DropInPublisher(kafka, this.#options)
    const group = groupId ?? (consumer as Consumer | undefined)?.name ?? ''
    this.#inline = runInline(consumer, { group, ...(this.#publisher && { publisher: this.#publisher }) })
  }

  async take(handover: () => Handover): Promise<void> {
    try {
      const taken = handover()
      this.#publisher?.admit(taken.topic)
      const { order, heartbeatEveryMs } = this.#options
      const storeOpened = (): Promise<void> => (this.#opening ??= this.#openStore())
      await new DropInCall(taken, { inline: this.#inline, storeOpened, order, heartbeatEveryMs }).run()
    } catch (error) {
      throw survivable(error)
    }
  }

  stop(options?: StopOptions): Promise<void> {
    this.#stopped ??= this.#stop(options)
    return this.#stopped
  }

  health(): Health {
    return this.#inline.health()
  }

  /** It may be down for long. */
  async #openStore(): Promise<void> {
    const { signal } = this.#stopping
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        return await this.#inline.open()
      } catch (error) {
        if (signal.aborted) return
        const detail = `attempt ${attempt}: ${describeError(error)}`
        this.#inline.report({ type: 'source', event: 'store-not-opened', detail, isWarning: true })
        const delayMs = backoffMs(attempt, OPEN_STORE_AGAIN, systemEntropy.fraction())
        await sleep(delayMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  async #stop(options: StopOptions | undefined): Promise<void> {
    this.#stopping.abort()
    try {
      await this.#inline.stop(options)
    } finally {
      await this.#publisher?.close()
    }
  }
}

function withLife<F extends (payload: never) => Promise<void>>(handler: DropInHandler, take: F): F & DropIn {
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

/** After these, which it knows by name, kafkajs ends its consumer for good, and the process lives on without. */
const FATAL_TO_KAFKAJS: readonly string[] = [
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'KafkaJSNotImplemented',
  'KafkaJSNoBrokerAvailableError',
]

/** An error of kafkajs itself goes back as it is where it tells kafkajs to join again, or may be gone at the next try. */
function survivable(error: unknown): Error {
  if (error instanceof Error && !isFatal(error)) return error
  return new BrokerError('BROKER_UNREACHABLE', `kafkajs could not go on: ${describeError(error)}`, { cause: error })
}

function isFatal(error: Error): boolean {
  const { type, retriable } = error as { readonly type?: unknown; readonly retriable?: unknown }
  if (typeof type === 'string' && makesJoinAgain(type)) return false
  return retriable === false || FATAL_TO_KAFKAJS.includes(error.name)
}
