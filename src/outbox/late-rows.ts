import type { OutboxTable, OutgoingRow, UnpublishedRow } from '../ports/outbox.ts'
import type { Ended, Late } from './batch.ts'
import type { Brokers } from './brokers.ts'

/** What to write down of rows that have ended, and what to tell once it is written. */
export interface Judged {
  readonly published: readonly OutgoingRow[]
  readonly unpublished: readonly UnpublishedRow[]
  readonly tell: () => void
}

interface LateParts {
  readonly table: Pick<OutboxTable, 'settle'>
  readonly brokers: Brokers
  readonly judge: (ended: readonly Ended[]) => Judged
  /** A broker that was down answers. */
  readonly wake: () => void
}

/** Messages that a broker did not answer in the time of their transaction. They are put off in the table, and settled when they end. */
export class LateRows {
  readonly #parts: LateParts
  readonly #rows = new Set<OutgoingRow>()
  #ended: Ended[] = []
  #settling: Promise<void> | undefined

  constructor(parts: LateParts) {
    this.#parts = parts
  }

  watch({ row, ending }: Late): void {
    this.#rows.add(row)
    this.#parts.brokers.countUnanswered(row.system, 1)
    void this.#end(ending)
  }

  /** They are due at once for the next relay, which sends them again under the same IDs. */
  async giveUp(): Promise<void> {
    await this.#settling
    const rows = [...this.#rows].map((row): UnpublishedRow => ({
      row,
      as: 'unanswered',
      cause: undefined,
      retryAfterMs: 0,
    }))
    this.#rows.clear()
    // Else they are due later.
    if (rows.length > 0) await this.#parts.table.settle([], rows).catch(() => {})
  }

  async #end(ending: Promise<Ended>): Promise<void> {
    const ended = await ending
    const { brokers, wake } = this.#parts
    brokers.countUnanswered(ended.row.system, -1)
    if (ended.end !== 'unanswered' && brokers.answered(ended.row.system)) wake()
    // Given up: a relay may have put it off anew.
    if (!this.#rows.delete(ended.row) && ended.end !== 'published') return
    this.#ended.push(ended)
    this.#settling ??= this.#settle()
  }

  /** Those that end meanwhile go together. */
  async #settle(): Promise<void> {
    while (this.#ended.length > 0) {
      const { published, unpublished, tell } = this.#parts.judge(this.#ended.splice(0))
      // If the database does not answer, they are due later, and sent again.
      await this.#parts.table.settle(published, unpublished).then(tell, () => {})
    }
    this.#settling = undefined
  }
}
