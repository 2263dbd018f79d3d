import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { OutgoingRow } from '../ports/outbox.ts'

/** No message is sent later in a transaction: it must end before the server ends it. */
const SEND_WITHIN_MS: DurationMs = 5_000
/** A message that is not answered for so long is left alone, with its line. */
const PATIENCE_MS: DurationMs = 2_000
const LOOK_EVERY_MS: DurationMs = 500

export type Ended =
  | { readonly row: OutgoingRow; readonly end: 'published' }
  | { readonly row: OutgoingRow; readonly end: 'refused'; readonly cause: string }
  /** It says nothing about the row. */
  | { readonly row: OutgoingRow; readonly end: 'unanswered'; readonly cause: string }

/** A message that is still under way. */
export interface Late {
  readonly row: OutgoingRow
  readonly ending: Promise<Ended>
}

interface Line {
  readonly rows: readonly OutgoingRow[]
  underWay: (Late & { readonly since: MonotonicMs }) | undefined
}

/** The rows of one transaction, line by line. */
export class Batch {
  readonly #clock: Clock
  /** Never rejects. */
  readonly #publish: (row: OutgoingRow) => Promise<Ended>
  readonly #lines: readonly Line[]
  readonly #ended: Ended[] = []
  #until: MonotonicMs
  #isOver = false
  #isLeft = false

  constructor(rows: readonly OutgoingRow[], publish: (row: OutgoingRow) => Promise<Ended>, clock: Clock) {
    this.#clock = clock
    this.#publish = publish
    this.#until = clock.monotonic() + SEND_WITHIN_MS
    const lines = new Map<number, OutgoingRow[]>()
    for (const row of rows) {
      const line = lines.get(row.line)
      if (line === undefined) lines.set(row.line, [row])
      else line.push(row)
    }
    this.#lines = [...lines.values()].map((of) => ({ rows: of, underWay: undefined }))
  }

  /** Resolves with what has ended, and what was left because it does not: it holds up its line, and no other. */
  async run(): Promise<{ readonly ended: readonly Ended[]; readonly late: readonly Late[] }> {
    const all = this.#publishAll()
    while (!this.#isOver && !this.#isLeft) {
      await this.#within(LOOK_EVERY_MS, all)
      if (!this.#isOver) this.#look()
    }
    await this.#judgeAlone()
    const late = this.#isLeft ? this.#lines.flatMap(({ underWay }) => underWay ?? []) : []
    return { ended: this.#ended, late }
  }

  async #publishAll(): Promise<void> {
    await Promise.all(this.#lines.map((line) => this.#publishLine(line)))
    this.#isOver = true
  }

  async #within(ms: DurationMs, all: Promise<void>): Promise<void> {
    let cancel: (() => void) | undefined
    const over = new Promise<void>((resolve) => (cancel = this.#clock.after(ms, resolve)))
    await Promise.race([all, over])
    cancel?.()
  }

  /** Where a message is late, the other lines end with the message that is under way; then it is left. */
  #look(): void {
    const now = this.#clock.monotonic()
    const underWay = this.#lines.flatMap(({ underWay: one }) => one ?? [])
    const late = underWay.filter(({ since }) => now - since >= PATIENCE_MS)
    if (late.length > 0) this.#until = now
    this.#isLeft = late.length > 0 && late.length === underWay.length
  }

  /** A row is sent when the broker has confirmed the one before. */
  async #publishLine(line: Line): Promise<void> {
    for (const row of line.rows) {
      const since = this.#clock.monotonic()
      if (since >= this.#until) return
      const ending = this.#publish(row)
      line.underWay = { row, ending, since }
      const ended = await ending
      if (this.#isLeft) return
      line.underWay = undefined
      this.#ended.push(ended)
      if (ended.end !== 'published') return
    }
  }

  /**
   * RabbitMQ closes the channel for a message to an exchange that is not there, and with it all that were sent beside it. So
   * each that was refused is sent once more by itself. Those for which there is no time stay as they are.
   */
  async #judgeAlone(): Promise<void> {
    const suspects = this.#ended.filter(({ row, end }) => end === 'refused' && row.system === 'rabbitmq')
    if (suspects.length < 2) return
    for (const suspect of suspects) {
      const at = this.#ended.indexOf(suspect)
      if (this.#clock.monotonic() < this.#until) this.#ended[at] = await this.#publish(suspect.row)
      else this.#ended.splice(at, 1)
    }
  }
}
