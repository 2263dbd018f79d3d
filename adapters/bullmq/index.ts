import {
  ELSEWHERE,
  millis,
  OF_THE_CONSUMER,
  optionsOf,
  or,
  plainText,
  runInline,
  systemClock,
  type Consumer,
  type DurationMs,
  type Message,
  type Running,
  type Settlement,
  type Table,
} from '../../src/internal.ts'

export interface BullmqOptions {
  /**
   * Part of every key, beside the queue and the name of the consumer.
   * @defaultValue 'bullmq'
   */
  readonly group?: string
  /**
   * How long a job waits that could not be handled now, such as during `stop()`, in milliseconds.
   * @defaultValue 1000
   */
  readonly delayMs?: DurationMs
}

/** The part of a BullMQ job that is used. */
export interface JobLike {
  readonly id?: string | undefined
  readonly name: string
  readonly queueName: string
  readonly data: unknown
  /** When it was added, in ms since 1970. */
  readonly timestamp: number
  moveToDelayed(timestamp: number, token?: string): Promise<void>
}

export type BullmqProcessor = ((job: JobLike, token?: string) => Promise<unknown>) & Pick<Running, 'health' | 'stop'>

const BULLMQ: Table<BullmqOptions> = {
  group: or('bullmq', plainText()),
  delayMs: or(1_000, millis()),
  [ELSEWHERE]: OF_THE_CONSUMER,
}

/**
 * A processor for a BullMQ `Worker` that handles each job once, also a stalled job that BullMQ gives to a second worker
 * while the first still runs. The message of a job has its data as JSON, its name as header `job-name`, and its ID as
 * `messageId`.
 *
 * The consumer counts attempts and waits between them: a job that failed is delayed, and does not count as an attempt of
 * BullMQ. A job that is given up, parked or unusable fails at once (`UnrecoverableError`) and is then in the failed set.
 * With `rememberResult` the job returns what the handler returned in the run that had the effect.
 *
 * @throws ConfigError `CONFIG_INVALID`, also for a store of strategy `offsets`
 */
export function bullmqProcessor(consumer: Consumer, options: BullmqOptions = {}): BullmqProcessor {
  const { group, delayMs } = optionsOf('bullmqProcessor', BULLMQ, options)
  const inline = runInline(consumer, { group, retryWaits: 'caller' })
  const process = async (job: JobLike, token?: string): Promise<unknown> => {
    const settlement = await inline.handle(messageOf(job))
    switch (settlement.settle) {
      case 'ack':
        if (settlement.failure !== undefined) throw unrecoverable(settlement.failure.message)
        return settlement.result
      case 'retry':
        return delayed(job, token, settlement.retryAfterMs ?? delayMs)
      case 'dead-letter':
        throw unrecoverable(detailOf(settlement))
    }
  }
  return Object.assign(process, { health: () => inline.health(), stop: inline.stop.bind(inline) })
}

function messageOf({ id, name, queueName, data, timestamp }: JobLike): Message {
  return {
    system: 'bullmq',
    destination: queueName,
    origin: queueName,
    position: id ?? '',
    key: null,
    value: Buffer.from(JSON.stringify(data ?? null)),
    headers: { 'job-name': name },
    messageId: id,
    timestamp,
  }
}

/** BullMQ knows these errors by their names, also from another copy of its package. */
async function delayed(job: JobLike, token: string | undefined, ms: DurationMs): Promise<never> {
  await job.moveToDelayed(systemClock.now() + ms, token)
  throw named('DelayedError', 'the job is tried again later')
}

function unrecoverable(message: string): Error {
  return named('UnrecoverableError', message)
}

function named(name: 'DelayedError' | 'UnrecoverableError', message: string): Error {
  const error = new Error(message)
  error.name = name
  return error
}

function detailOf({ reason = 'dead-lettered', deadLetter }: Settlement): string {
  return deadLetter === undefined ? reason : `${reason}: ${deadLetter.detail}`
}
