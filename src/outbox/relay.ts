import { backoffMs, type Backoff } from '../core/backoff.ts'
import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { unawaited } from '../foundation/at-once.ts'
import { describeError, hasCode } from '../foundation/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type {
  FailedRow,
  Outbox,
  OutboxTable,
  OutgoingRow,
  OutgoingSystem,
  RelayEvent,
  TakenRows,
} from '../ports/outbox.ts'
import { published } from './outgoing.ts'

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

/** Rows of one transaction. */
const MOST = 500
/** Transactions at once: one is settled and taken while the broker answers another. */
const WORKERS = 2
/** No message is sent later in a transaction: it must end before the server ends it. */
const SEND_WITHIN_MS = 5_000
const RETRY: Backoff = { initialMs: 1_000, maxMs: 60_000 }

type Ended =
  | { readonly row: OutgoingRow; readonly end: 'published' }
  | { readonly row: OutgoingRow; readonly end: 'failed'; readonly cause: string }
  /** It says nothing about the row. */
  | { readonly row: OutgoingRow; readonly end: 'down'; readonly cause: string }

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

/**
 * Publishes the rows of an outbox, and removes those that the broker has confirmed: each at least once, under the same
 * message ID. Rows of one line go one after the other. A row that fails holds up its line alone.
 */
export class Relay implements Pick<Outbox, 'start' | 'stop' | 'watch' | 'wake'> {
  readonly #options: RelayOptions
  readonly #waiting = new Set<Waiting>()
  readonly #listeners: ((event: RelayEvent) => unknown)[]
  #starts = 0
  #run: Run | undefined
  /** Rows were committed since a worker last looked. */
  #isWoken = false
  #downInARow = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#listeners = [options.tell]
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
    for (const { goOn } of this.#waiting) goOn()
    await Promise.all(run.workers)
  }

  watch(listener: (event: RelayEvent) => void): void {
    this.#listeners.push(listener)
  }

  wake(): void {
    this.#isWoken = true
    for (const { isWakeable, goOn } of this.#waiting) if (isWakeable) goOn()
  }

  /** After a stop it goes on until nothing is left, or until its time is over. */
  async #work(run: Run): Promise<void> {
    const { clock, pollMs } = this.#options
    while (run.endsAt === undefined || clock.monotonic() < run.endsAt) {
      const found = await this.#publishSome()
      if (found === 'some') continue
      if (run.endsAt !== undefined) return
      if (found === 'none') await this.#wait(pollMs, true)
      else await this.#wait(found.waitMs, false)
    }
  }

  /** What it found; or how long to wait, because broker or database is down. */
  async #publishSome(): Promise<'some' | 'none' | { readonly waitMs: DurationMs }> {
    try {
      this.#isWoken = false
      const taken = await this.#options.table.take(MOST)
      if (taken === undefined) return 'none'
      const down = await this.#publishAll(taken)
      if (down !== undefined) return this.#down(down)
      this.#downInARow = 0
      return 'some'
    } catch (error) {
      return this.#down(describeError(error))
    }
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

  #down(cause: string): { readonly waitMs: DurationMs } {
    const waitMs = backoffMs(++this.#downInARow, RETRY, this.#options.entropy.fraction())
    this.#tell({ event: 'waits', cause, forMs: waitMs })
    return { waitMs }
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

  /** Returns why broker or database is down, if that is so. */
  async #publishAll(taken: TakenRows): Promise<string | undefined> {
    const until = this.#options.clock.monotonic() + SEND_WITHIN_MS
    const lines = new Map<number, OutgoingRow[]>()
    for (const row of taken.rows) {
      const line = lines.get(row.line)
      if (line === undefined) lines.set(row.line, [row])
      else line.push(row)
    }
    const ended: Ended[] = []
    await Promise.all([...lines.values()].map((line) => this.#publishLine(line, until, ended)))
    await this.#judgeAlone(ended, until)
    const done = ended.flatMap(({ row, end }) => (end === 'published' ? [row] : []))
    const failed = ended.flatMap((one) => (one.end === 'failed' ? [this.#failed(one.row, one.cause)] : []))
    await taken.settle(
      done.map(({ id }) => id),
      failed,
    )
    this.#tellPublished(done)
    for (const one of ended) {
      if (one.end !== 'failed') continue
      const isParked = failed.some(({ id, retryAfterMs }) => id === one.row.id && retryAfterMs === undefined)
      const { place, messageId } = one.row
      this.#tell({ event: isParked ? 'parked' : 'failed', place, messageId, cause: one.cause })
    }
    return ended.find((one) => one.end === 'down')?.cause
  }

  /** Once for each place. */
  #tellPublished(rows: readonly OutgoingRow[]): void {
    const counts = new Map<string, number>()
    for (const { place } of rows) counts.set(place, (counts.get(place) ?? 0) + 1)
    for (const [place, count] of counts) this.#tell({ event: 'published', place, count })
  }

  /**
   * RabbitMQ closes the channel for a message to an exchange that is not there, and with it all that were sent beside it. So
   * each that was refused is sent once more by itself. Those for which there is no time stay as they are.
   */
  async #judgeAlone(ended: Ended[], until: MonotonicMs): Promise<void> {
    const suspects = ended.filter(({ row, end }) => end === 'failed' && row.system === 'rabbitmq')
    if (suspects.length < 2) return
    for (const suspect of suspects) {
      const at = ended.indexOf(suspect)
      if (this.#options.clock.monotonic() < until) ended[at] = await this.#publish(suspect.row)
      else ended.splice(at, 1)
    }
  }

  /** A row is sent when the broker has confirmed the one before. */
  async #publishLine(rows: readonly OutgoingRow[], until: number, ended: Ended[]): Promise<void> {
    for (const row of rows) {
      if (this.#options.clock.monotonic() >= until) return
      const end = await this.#publish(row)
      ended.push(end)
      if (end.end !== 'published') return
    }
  }

  async #publish(row: OutgoingRow): Promise<Ended> {
    const publish = this.#options.publish[row.system]
    if (publish === undefined) {
      const cause = `the outbox has no publisher for ${row.system === 'kafka' ? 'Kafka' : 'RabbitMQ'}`
      return { row, end: 'failed', cause }
    }
    try {
      await publish(published(row))
      return { row, end: 'published' }
    } catch (error) {
      const isDown = hasCode(error, 'BROKER_UNREACHABLE') || hasCode(error, 'STOPPED')
      return { row, end: isDown ? 'down' : 'failed', cause: describeError(error) }
    }
  }

  #failed({ id, attempts }: OutgoingRow, cause: string): FailedRow {
    const { maxAttempts, entropy } = this.#options
    const isLast = maxAttempts !== undefined && attempts + 1 >= maxAttempts
    return { id, cause, retryAfterMs: isLast ? undefined : backoffMs(attempts + 1, RETRY, entropy.fraction()) }
  }
}
