// A source of your own, whole: docs/source.md goes through it. It imports what every package can.
import { setTimeout as sleep } from 'node:timers/promises'
import { runConsumer } from 'consume-once/spi'
import type { Consumer, Starting } from 'consume-once'
import {
  BrokerError,
  ConfigError,
  COPY_HEADER,
  copyHeaders,
  copyText,
  describeError,
  StoppedError,
  systemClock,
  Watermark,
  type DeadLetter,
  type Delivery,
  type Intake,
  type Message,
  type Publisher,
  type Source,
  type SourceHealth,
  type Standing,
} from 'consume-once/spi'
import type { Assignment, Log, LogRecord, Member } from './support/log.ts'

export interface LogPlace {
  readonly topic: string
  readonly group: string
}

const COMMIT_EVERY_MS = 20
const AGAIN_AFTER_MS = 20

// #region run
/** Runs a consumer on the log. Returns a handle at once, as every start does. */
export function runLog(log: Log, consumer: Consumer, place: LogPlace): Starting {
  return runConsumer(consumer, () => {
    const source = new LogSource(log, place)
    return { source, publisher: source }
  })
}
// #endregion

/** One assignment of a partition: what it delivered is settled in it, or not at all. */
export class Epoch {
  readonly partition: number
  readonly generation: number
  /** The lowest offset that is not finished: what lies below may be committed. */
  readonly watermark: Watermark<number> = new Watermark()
  /** The offset to fetch next. */
  next: number
  committed: number
  standing: Standing = 'current'

  constructor(partition: number, committed: number, generation: number) {
    this.partition = partition
    this.next = committed
    this.committed = committed
    this.generation = generation
  }
}

export class LogSource implements Source, Publisher {
  readonly system = 'example-log'
  readonly group: string
  protected readonly log: Log
  protected readonly topic: string
  protected intake: Intake | undefined
  protected epochs: readonly Epoch[] = []
  protected isPaused = false
  #hasIntakeEnded = false
  #isClosed = false
  #member: Member | undefined
  #timer: NodeJS.Timeout | undefined
  #committing: Promise<void> = Promise.resolve()

  constructor(log: Log, { topic, group }: LogPlace) {
    if (topic === '' || group === '') throw new ConfigError(['expected a topic and a group, got an empty text'])
    this.log = log
    this.topic = topic
    this.group = group
  }

  // #region open
  async open(intake: Intake): Promise<void> {
    this.intake = intake
    try {
      this.#member = await this.log.join(this.topic, this.group, (assignment) => this.assigned(assignment))
    } catch (error) {
      throw new BrokerError('BROKER_UNREACHABLE', `the log did not answer: ${describeError(error)}`, { cause: error })
    }
    if (this.#isClosed) {
      await this.#member.leave()
      throw new StoppedError('closed while it joined')
    }
    this.#timer = setInterval(() => void this.flush(), COMMIT_EVERY_MS)
  }
  // #endregion

  // #region assigned
  /** The group has rebalanced: each partition begins a new epoch at its committed offset. */
  protected assigned({ generation, committed }: Assignment): void {
    for (const old of this.epochs) old.standing = committed.has(old.partition) ? 'stale' : 'lost'
    this.epochs = [...committed].map(([partition, offset]) => new Epoch(partition, offset, generation))
    this.intake?.standingChanged()
    for (const epoch of this.epochs) void this.read(epoch)
  }
  // #endregion

  // #region read
  /** Never ends while the epoch lasts, whatever fails. */
  protected async read(epoch: Epoch): Promise<void> {
    while (epoch.standing === 'current' && !this.#hasIntakeEnded) {
      try {
        if (this.mayFetch()) this.#deliver(epoch, await this.fetch(epoch))
        else await sleep(AGAIN_AFTER_MS)
      } catch (error) {
        this.intake?.report({ type: 'source', event: 'fetch-failed', detail: describeError(error), isWarning: true })
        await sleep(AGAIN_AFTER_MS)
      }
    }
  }

  protected fetch({ partition, next }: Epoch): Promise<readonly LogRecord[]> {
    return this.log.fetch(this.topic, partition, next)
  }

  protected mayFetch(): boolean {
    return !this.isPaused
  }

  #deliver(epoch: Epoch, records: readonly LogRecord[]): void {
    // While it fetched, the epoch may have ended, or the pipeline may have asked for a pause: it fetches them again.
    if (epoch.standing !== 'current' || this.#hasIntakeEnded || !this.mayFetch()) return
    const last = records.at(-1)
    if (last === undefined) return
    epoch.next = last.offset + 1
    this.intake?.deliver(records.map((record) => this.delivery(epoch, record)))
  }

  protected delivery(epoch: Epoch, record: LogRecord): Delivery {
    const ticket = epoch.watermark.receive(record.offset)
    return {
      message: messageOf(this.topic, epoch.partition, record),
      // One key is handled in order. Without a key no order is required.
      lane: record.key === null ? undefined : `${epoch.partition}/${record.key}`,
      standing: () => epoch.standing,
      settle: () => {
        if (epoch.standing !== 'current') return false
        epoch.watermark.finish(ticket)
        return true
      },
    }
  }
  // #endregion

  // #region commit
  /** One request for all partitions. A refusal is normal: what it was for is delivered again, and settled as duplicate. */
  protected async commit(): Promise<void> {
    const due = this.epochs.filter((epoch) => this.offsetOf(epoch) > epoch.committed)
    const [first] = due
    if (first === undefined || this.#member === undefined) return
    const offsets = new Map(due.map((epoch) => [epoch.partition, this.offsetOf(epoch)]))
    const beganAt = systemClock.monotonic()
    try {
      await this.#member.commit(first.generation, offsets)
    } catch (error) {
      this.intake?.report({ type: 'source', event: 'commit-refused', detail: describeError(error) })
      return
    }
    let count = 0
    for (const epoch of due) {
      const offset = offsets.get(epoch.partition) ?? epoch.committed
      count += offset - epoch.committed
      epoch.committed = offset
    }
    this.intake?.report({ type: 'settles', count, durationMs: systemClock.monotonic() - beganAt })
  }

  protected offsetOf({ watermark, committed }: Epoch): number {
    return watermark.finishedUpTo === undefined ? committed : watermark.finishedUpTo + 1
  }

  /** Commits one after the other, so that none overtakes another. */
  protected flush(): Promise<void> {
    this.#committing = this.#committing.then(() => this.commit())
    return this.#committing
  }
  // #endregion

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  // #region stop
  async stopIntake(): Promise<void> {
    this.#hasIntakeEnded = true
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#hasIntakeEnded = true
    clearInterval(this.#timer)
    await this.flush()
    for (const epoch of this.epochs) epoch.standing = 'lost'
    this.epochs = []
    this.intake?.standingChanged()
    await this.#member?.leave()
  }
  // #endregion

  health(): SourceHealth {
    const ready = this.#member !== undefined && !this.#isClosed
    return { ready, detail: ready ? `${this.epochs.length} partitions` : 'not joined' }
  }

  // #region deadLetter
  /** Resolves when the log has it: only then the message is settled. */
  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    const { key, value } = deadLetter.message
    const headers = copyHeaders(deadLetter, systemClock.now())
    await this.log.append(deadLetterTopic(this.topic), { key: textOf(key), value, headers })
  }
  // #endregion
}

export function deadLetterTopic(topic: string): string {
  return `${topic}.dead-letter`
}

// #region message
/** The origin is part of the key: a message that was sent back from the dead letters has that of its first topic. */
export function messageOf(topic: string, partition: number, record: LogRecord): Message {
  const { offset, key, value, headers, timestamp } = record
  return {
    system: 'example-log',
    destination: topic,
    origin: copyText(headers, COPY_HEADER.originTopic) ?? topic,
    position: `${partition}@${offset}`,
    key: key === null ? null : Buffer.from(key),
    value,
    headers,
    timestamp,
  }
}
// #endregion

export function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString()
}
