import { backoffMs, type Backoff } from '../core/backoff.ts'
import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { unawaited } from '../foundation/at-once.ts'
import { describeError, isUnanswered } from '../foundation/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type {
  Outbox,
  OutboxTable,
  OutgoingRow,
  OutgoingSystem,
  RelayEvent,
  TakenRows,
  UnpublishedRow,
} from '../ports/outbox.ts'
import { Batch, type Ended, type Late } from './batch.ts'
import { ASK_AGAIN, Brokers } from './brokers.ts'
import { LateRows, type Judged } from './late-rows.ts'
import { published as asPublished } from './outgoing.ts'

/** Resolves when the broker has confirmed the message. */
type Publish = (message: Readonly<Record<string, unknown>>) => Promise<void>

export interface RelayOptions {
  readonly table: OutboxTable
  readonly publish: Readonly<Partial<Record<OutgoingSystem, Publish>>>
  /** How often it looks for rows of other processes. */
  readonly pollMs: DurationMs
  /** After so many attempts a row is parked; `undefined`: it is tried until a person parks it. */
  readonly maxAttempts: number | undefined
  readonly clock: Clock
  readonly entropy: Pick<Entropy, 'fraction'>
  readonly tell: (event: RelayEvent) => unknown
}

/** Transactions at once: one is settled and taken while the broker answers another. */
const WORKERS = 2
const RETRY: Backoff = { initialMs: 1_000, maxMs: 60_000 }
/** Of a row that a broker did not answer while it answered others. */
const UNANSWERED_RETRY_MS = 5_000
/** Longer than publishers wait for a broker: until then this relay settles it, if it lives. */
const LATE_FOR_MS = 40_000

/** From a start to its stop. */
interface Run {
  /** When a worker takes nothing more; `undefined`: it was not stopped. */
  endsAt: MonotonicMs | undefined
  workers: readonly Promise<void>[]
}

interface Waiting {
  /** While broker or database is down, new rows change nothing. */
  readonly isWakeable: boolean
  readonly goOn: () => void
}

type Found = 'some' | 'none' | { readonly waitMs: DurationMs }

/**
 * Publishes the rows of an outbox, and removes those that the broker has confirmed: each at least once, under the same
 * message ID. Rows of one line go one after the other. A row that fails, or is not answered, holds up its line alone; a
 * broker that is down holds up its own rows alone.
 */
export class Relay implements Pick<Outbox, 'start' | 'stop' | 'watch' | 'wake'> {
  readonly #options: RelayOptions
  readonly #brokers: Brokers
  readonly #late: LateRows
  readonly #waiting = new Set<Waiting>()
  readonly #listeners: ((event: RelayEvent) => unknown)[]
  #starts = 0
  #run: Run | undefined
  /** Rows were committed since a worker last looked. */
  #isWoken = false
  /** A worker has found rows when it looked last. */
  #hasFound = true
  #databaseDownInARow = 0

  constructor(options: RelayOptions) {
    const { table, clock, entropy } = options
    this.#options = options
    this.#listeners = [options.tell]
    this.#brokers = new Brokers(clock, entropy)
    this.#late = new LateRows({
      table,
      brokers: this.#brokers,
      judge: (ended) => this.#judge(ended),
      wake: () => this.#wakeAll(),
    })
  }

  start(): void {
    if (this.#starts++ > 0) return
    const run: Run = { endsAt: undefined, workers: [] }
    this.#run = run
    run.workers = Array.from({ length: WORKERS }, () => this.#work(run))
  }

  async stop(withinMs: DurationMs): Promise<void> {
    const run = this.#run
    if (run === undefined || --this.#starts > 0) return
    this.#run = undefined
    run.endsAt = this.#options.clock.monotonic() + withinMs
    this.#wakeAll()
    await Promise.all(run.workers)
    if (this.#starts === 0) await this.#late.giveUp()
  }

  watch(listener: (event: RelayEvent) => void): void {
    this.#listeners.push(listener)
  }

  wake(): void {
    this.#isWoken = true
    for (const { isWakeable, goOn } of this.#waiting) if (isWakeable) goOn()
  }

  #wakeAll(): void {
    for (const { goOn } of this.#waiting) goOn()
  }

  /** After a stop it goes on until nothing is left, or until its time is over. */
  async #work(run: Run): Promise<void> {
    const { clock, pollMs } = this.#options
    while (run.endsAt === undefined || clock.monotonic() < run.endsAt) {
      const found = await this.#publishSome(run.endsAt !== undefined)
      if (found === 'some') continue
      if (run.endsAt !== undefined) return
      if (found === 'none') await this.#wait(Math.min(pollMs, this.#brokers.waitMs ?? pollMs), true)
      else await this.#wait(found.waitMs, false)
    }
  }

  /** What it found; or how long to wait, because all brokers or the database are down. */
  async #publishSome(isLast: boolean): Promise<Found> {
    const { systems, most } = isLast ? this.#brokers.all : this.#brokers.next()
    if (systems.length === 0) return { waitMs: this.#brokers.waitMs ?? UNANSWERED_RETRY_MS }
    try {
      const taken = await this.#take(most, systems)
      this.#databaseDownInARow = 0
      if (taken === undefined) return 'none'
      const isDown = await this.#publishAll(taken)
      return isLast && isDown ? 'none' : 'some'
    } catch (error) {
      const waitMs = backoffMs(++this.#databaseDownInARow, ASK_AGAIN, this.#options.entropy.fraction())
      this.#tell({ event: 'waits', cause: describeError(error), forMs: waitMs })
      return { waitMs }
    }
  }

  async #take(most: number, systems: readonly OutgoingSystem[]): Promise<TakenRows | undefined> {
    const { table } = this.#options
    const isLikely = this.#isWoken || this.#hasFound
    this.#isWoken = false
    if (!isLikely && !(await table.isAnyDue(systems))) return undefined
    const taken = await table.take(most, systems)
    this.#hasFound = taken !== undefined
    return taken
  }

  /** Whatever functions of users do with it. */
  #tell(event: RelayEvent): void {
    for (const listener of this.#listeners) {
      try {
        unawaited(listener(event))
      } catch {
        // It is theirs.
      }
    }
  }

  #wait(ms: DurationMs, isWakeable: boolean): Promise<void> {
    if (isWakeable && this.#isWoken) return Promise.resolve()
    return new Promise((resolve) => {
      const goOn = (): void => {
        this.#waiting.delete(waiting)
        cancel()
        resolve()
      }
      const waiting: Waiting = { isWakeable, goOn }
      this.#waiting.add(waiting)
      const cancel = this.#options.clock.after(ms, goOn)
    })
  }

  /** Returns whether a broker is down. */
  async #publishAll(taken: TakenRows): Promise<boolean> {
    const { ended, late } = await new Batch(taken.rows, (row) => this.#publish(row), this.#options.clock).run()
    const silent = this.#silentIn(ended, late)
    // What a broker does not answer that answers nothing stays as it is: it is not about the row.
    const judged = this.#judge(ended.filter(({ row, end }) => end !== 'unanswered' || !silent.has(row.system)))
    const putOff = late.map(({ row }): UnpublishedRow => ({ row, ...LATE }))
    try {
      await taken.settle(judged.published, [...judged.unpublished, ...putOff])
    } finally {
      for (const one of late) this.#late.watch(one)
    }
    judged.tell()
    return silent.size > 0
  }

  /** Brokers that have answered nothing in this batch, though they were asked. */
  #silentIn(ended: readonly Ended[], late: readonly Late[]): ReadonlySet<OutgoingSystem> {
    const answered = new Set(ended.flatMap(({ row, end }) => (end === 'unanswered' ? [] : [row.system])))
    for (const system of answered) this.#brokers.answered(system)
    const causes = new Map<OutgoingSystem, string>(late.map(({ row }) => [row.system, 'the broker does not answer']))
    for (const one of ended) if (one.end === 'unanswered') causes.set(one.row.system, one.cause)
    for (const system of answered) causes.delete(system)
    for (const [system, cause] of causes) {
      this.#tell({ event: 'waits', cause, forMs: this.#brokers.silent(system) })
    }
    return new Set(causes.keys())
  }

  /** What to write down, and what to tell once it is written. */
  #judge(ended: readonly Ended[]): Judged {
    const published = ended.flatMap(({ row, end }) => (end === 'published' ? [row] : []))
    const unpublished = ended.flatMap((one) => (one.end === 'published' ? [] : [this.#unpublished(one)]))
    const tell = (): void => {
      this.#tellPublished(published)
      for (const one of unpublished) {
        const { place, messageId } = one.row
        if (one.as === 'unanswered') continue
        this.#tell({ event: one.as === 'parked' ? 'parked' : 'failed', place, messageId, cause: one.cause })
      }
    }
    return { published, unpublished, tell }
  }

  /** Once for each place. */
  #tellPublished(rows: readonly OutgoingRow[]): void {
    const counts = new Map<string, number>()
    for (const { place } of rows) counts.set(place, (counts.get(place) ?? 0) + 1)
    for (const [place, count] of counts) this.#tell({ event: 'published', place, count })
  }

  #unpublished({ row, end, cause }: Exclude<Ended, { readonly end: 'published' }>): UnpublishedRow {
    const { maxAttempts, entropy } = this.#options
    if (end === 'unanswered') return { row, as: 'unanswered', cause, retryAfterMs: UNANSWERED_RETRY_MS }
    const attempt = row.attempts + 1
    if (maxAttempts !== undefined && attempt >= maxAttempts) return { row, as: 'parked', cause }
    return { row, as: 'refused', cause, retryAfterMs: backoffMs(attempt, RETRY, entropy.fraction()) }
  }

  async #publish(row: OutgoingRow): Promise<Ended> {
    const publish = this.#options.publish[row.system]
    if (publish === undefined) {
      const cause = `the outbox has no publisher for ${row.system === 'kafka' ? 'Kafka' : 'RabbitMQ'}`
      return { row, end: 'refused', cause }
    }
    try {
      await publish(asPublished(row))
      return { row, end: 'published' }
    } catch (error) {
      return { row, end: isUnanswered(error) ? 'unanswered' : 'refused', cause: inOneLine(describeError(error)) }
    }
  }
}

/** For lists, logs and warnings. */
function inOneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ')
}

const LATE = { as: 'unanswered', cause: undefined, retryAfterMs: LATE_FOR_MS } as const
