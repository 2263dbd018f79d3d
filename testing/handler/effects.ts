import { InboxDatabase } from '../stores/inbox-database.ts'
import { KeysUsed } from './keys-used.ts'
import type { MemoryOutbox } from '../stores/memory-outbox.ts'
import type { MemoryTx } from '../stores/memory-transaction.ts'
import type { TxCall } from './tx-call.ts'
import { whyNoMessage, whyNoValues } from './undefined-given.ts'
import { WatchedOutbox } from './watched-outbox.ts'

/** What happened outside of `tx`: the collection in which your stand-in for a provider keeps what it did. */
export type Collected = unknown[] | Map<unknown, unknown> | Set<unknown>

/** What a call of the clients answers: rows, for both that the library lends. */
const ANSWER = Object.assign([[], []], { rows: [], rowCount: 1, affectedRows: 1 })
const READS = /^\s*(?:select|show|explain)\b/i

/** Which message an effect belongs to, by its idempotency key: it is the same in each run of the message. */
export interface Effect {
  readonly of: string
  readonly what: string
}

/** A value that a handler meant to give, by the idempotency key of its message. */
export interface Refused {
  readonly of: string
  readonly why: string
}

/** Counts the effects of each message. Those through `tx` and `publish` count when they are committed. */
export class Effects {
  /** Of all processes of the test: its effects are those that are committed. */
  readonly database: InboxDatabase<Effect> = new InboxDatabase()
  readonly outbox: MemoryOutbox = new WatchedOutbox((message, by) => {
    this.#refuse(by.idempotencyKey, whyNoMessage(message))
  })
  /** What handlers gave without a value, and why that is refused. */
  readonly refused: Refused[] = []
  readonly #outside: Effect[] = []
  readonly #collected: Collected | undefined
  readonly #answers: (call: TxCall) => unknown
  /** Of the messages, under which their effects are kept. */
  readonly keys: KeysUsed
  #of = ''

  constructor(collected: Collected | undefined, answers: (call: TxCall) => unknown = () => ANSWER) {
    this.#collected = collected
    this.#answers = answers
    if (Array.isArray(collected)) collected.length = 0
    else collected?.clear()
    this.keys = new KeysUsed(collected, () => this.#of)
  }

  /** Runs one handler alone: what happens meanwhile is of its message. */
  async during<T>(of: string, run: () => Promise<T> | T): Promise<T> {
    this.#of = of
    const before = this.#collectedCount
    try {
      return await run()
    } finally {
      for (let count = before; count < this.#collectedCount; count++) this.#outside.push({ of, what: 'outside of tx' })
    }
  }

  /** The `tx` of a handler: every method notes its call, and answers as if it had one row. */
  lend(memory: MemoryTx<Effect>): unknown {
    const note = async (call: TxCall): Promise<unknown> => {
      this.#refuse(this.#of, whyNoValues(call))
      const [first] = call.args
      const isRead = typeof first === 'string' && READS.test(first)
      if (!isRead) await memory.insert({ of: this.#of, what: `tx.${call.method}(${JSON.stringify(first)})` })
      return this.#answers(call)
    }
    return new Proxy(
      {},
      {
        get: (_, method) =>
          // A promise would be asked for it.
          typeof method === 'symbol' || method === 'then' ? undefined : (...args: unknown[]) => note({ method, args }),
      },
    )
  }

  get total(): number {
    return this.#all.length
  }

  /** What happened for a message, which may have run under several keys: for people. */
  under(keys: readonly string[]): readonly string[] {
    return this.#all.flatMap(({ of, what }) => (keys.includes(of) ? [what] : []))
  }

  #refuse(of: string, why: string | undefined): void {
    if (why !== undefined) this.refused.push({ of, why })
  }

  get #all(): readonly Effect[] {
    const published = this.outbox.published.map(({ by, place }) => ({ of: by, what: `publish to ${place}` }))
    return [...this.database.effects, ...published, ...this.#outside]
  }

  get #collectedCount(): number {
    if (this.#collected === undefined) return 0
    return Array.isArray(this.#collected) ? this.#collected.length : this.#collected.size
  }
}
