import {
  ELSEWHERE,
  flag,
  having,
  millis,
  needed,
  OF_THE_CONSUMER,
  oneOf,
  optionsOf,
  or,
  plainText,
  runInline,
  StoppedError,
  type Consumer,
  type DurationMs,
  type InlineRunning,
  type Publisher,
  type Running,
  type Table,
} from '../../src/internal.ts'
import { Batch, type Ended, type Item } from './batch.ts'
import { kafkaMessage, rabbitMessage, type KafkaEvent, type RabbitEvent } from './events.ts'

export type { KafkaEvent, KafkaRecord, RabbitEvent, RabbitRecord } from './events.ts'

export interface LambdaOptions {
  /** Part of every key, as the consumer group or queue of `runKafka` and `runRabbit`. */
  readonly group: string
  /**
   * This long before Lambda ends the invocation, in milliseconds, nothing begins any more and handlers under a lease are
   * aborted. What has not ended is delivered again. Must be less than the timeout of the function.
   * @defaultValue 3000
   */
  readonly marginMs?: DurationMs
  /**
   * Publishes dead letters. Without it a message that is given up or parked counts as failed at each delivery, so
   * Lambda delivers it until its retries are used up, and then sends it to the on-failure destination.
   */
  readonly publisher?: Publisher
}

export interface KafkaLambdaOptions extends LambdaOptions {
  /**
   * `true` only if the event source mapping has `ReportBatchItemFailures`: Lambda then continues each partition at its
   * first message that is not handled. Without that setting Lambda takes every answer for success, and the messages are
   * lost. `false`: the invocation fails, and Lambda delivers the whole batch again.
   * @defaultValue false
   */
  readonly reportsFailures?: boolean
  /**
   * Messages that are handled one after the other: those with the same Kafka key, or all of a partition, or none.
   * @defaultValue 'key'
   */
  readonly order?: 'key' | 'partition' | 'none'
}

/** The part of the context of an invocation that is used. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number
}

export interface KafkaBatchResponse {
  /** The first message of each partition that must be delivered again. `partition` is `topic-number`. */
  readonly batchItemFailures: readonly {
    readonly itemIdentifier: { readonly partition: string; readonly offset: number }
  }[]
}

/** A handler of Lambda. `stop()` ends it, for tests: an execution environment is frozen and never stops. */
export type LambdaHandler<Event, Response> = ((event: Event, context: LambdaContext) => Promise<Response>) &
  Pick<Running, 'health' | 'stop'>

const OF_RABBIT: Table<LambdaOptions, 'publisher'> = {
  group: needed(plainText()),
  marginMs: or(3_000, millis()),
  publisher: having('one that publishes dead letters, with the function deadLetter', 'deadLetter'),
  [ELSEWHERE]: OF_THE_CONSUMER,
}
const OF_KAFKA: Table<KafkaLambdaOptions, 'publisher'> = {
  ...OF_RABBIT,
  reportsFailures: or(false, flag()),
  order: or('key', oneOf('key', 'partition', 'none')),
}

/**
 * Handles the events of Amazon MSK, and of self-managed Kafka, each message once.
 *
 * @throws ConfigError `CONFIG_INVALID`, also for a store of strategy `offsets`. The handler rejects with `StoppedError`
 *   if a message is not handled and `reportsFailures` is not set, and with any error of the store's `open()`
 */
export function mskHandler(
  consumer: Consumer,
  options: KafkaLambdaOptions,
): LambdaHandler<KafkaEvent, KafkaBatchResponse> {
  const { reportsFailures, order, marginMs, ...place } = optionsOf('mskHandler', OF_KAFKA, options)
  const inline = inlineOf(consumer, place)
  return withLife(inline, async (event: KafkaEvent, context: LambdaContext) => {
    const records = Object.entries(event.records).flatMap(([name, list]) => list.map((record) => ({ name, record })))
    const items = records.map(({ name, record }): Item => {
      const message = kafkaMessage(record)
      return { message, lane: laneOf(order, name, message.key) }
    })
    const ended = await new Batch(inline, items).run({ withinMs: context.getRemainingTimeInMillis(), marginMs })
    if (!reportsFailures) refuse(ended, items)
    const first = new Map<string, number>()
    for (const [at, { name, record }] of records.entries()) {
      if (ended[at]?.settle !== 'ack' && record.offset < (first.get(name) ?? Infinity)) first.set(name, record.offset)
    }
    return {
      batchItemFailures: [...first].map(([partition, offset]) => ({ itemIdentifier: { partition, offset } })),
    }
  })
}

/**
 * Handles the events of Amazon MQ for RabbitMQ, each message once. Lambda has no partial answer for them: if one message
 * is not handled, the invocation fails and all come again. Those that were handled are duplicates then.
 *
 * @throws ConfigError `CONFIG_INVALID`, also for a store of strategy `offsets`. The handler rejects with `StoppedError`
 *   if a message is not handled, and with any error of the store's `open()`
 */
export function amazonMqHandler(consumer: Consumer, options: LambdaOptions): LambdaHandler<RabbitEvent, void> {
  const { marginMs, ...place } = optionsOf('amazonMqHandler', OF_RABBIT, options)
  const inline = inlineOf(consumer, place)
  return withLife(inline, async (event: RabbitEvent, context: LambdaContext) => {
    const items = Object.entries(event.rmqMessagesByQueue).flatMap(([queue, records]) =>
      records.map((record, at): Item => ({ message: rabbitMessage(queue, record, at), lane: undefined })),
    )
    refuse(await new Batch(inline, items).run({ withinMs: context.getRemainingTimeInMillis(), marginMs }), items)
  })
}

/** Lambda delivers again at once, and cannot wait for a message. */
function inlineOf(
  consumer: Consumer,
  { group, publisher }: Pick<LambdaOptions, 'group'> & { publisher: Publisher | undefined },
): InlineRunning {
  return runInline(consumer, { group, retryWaits: 'here', ...(publisher && { publisher }) })
}

function laneOf(order: 'key' | 'partition' | 'none', partition: string, key: Uint8Array | null): string | undefined {
  if (order === 'partition') return partition
  return order === 'none' || key === null ? undefined : `${partition}/${Buffer.from(key).toString('latin1')}`
}

/** @throws StoppedError */
function refuse(ended: readonly Ended[], items: readonly Item[]): void {
  const failed = items.filter((_, at) => ended[at]?.settle !== 'ack')
  const [first] = failed
  if (first === undefined) return
  const { destination, position } = first.message
  const settlement = ended[items.indexOf(first)]
  const why = settlement === undefined ? 'out of time' : (settlement.reason ?? settlement.outcome)
  throw new StoppedError(
    `${failed.length} of ${items.length} messages are not handled, the first is ${destination} ${position} (${why}): Lambda delivers all of them again`,
  )
}

function withLife<Event, Response>(
  inline: InlineRunning,
  handle: (event: Event, context: LambdaContext) => Promise<Response>,
): LambdaHandler<Event, Response> {
  return Object.assign(handle, { health: () => inline.health(), stop: inline.stop.bind(inline) })
}
