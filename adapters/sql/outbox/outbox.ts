import { randomUUID } from 'node:crypto'
import {
  ConfigError,
  isSequenceKey,
  keyOfProvider,
  outgoingOf,
  Relay,
  RunPublishing,
  systemClock,
  systemEntropy,
  type CheckFinding,
  type Complete,
  type DurationMs,
  type Key,
  type OutboxBacklog,
  type OutboxRefused,
  type Outgoing,
  type OutgoingMessage,
  type Publishing,
  type RelayEvent,
} from '../../../src/internal.ts'
import type { OutgoingPlace } from '../place.ts'
import type { Script, Sessions } from '../session.ts'
import { checkOutbox } from './checkup.ts'
import { backlogOf, refusedOf, type OutboxStatements } from './statements.ts'
import { SqlOutboxTable } from './table.ts'
import type { OutboxOptions, QueryLike, SqlOutbox } from './types.ts'

export interface OutboxParts {
  readonly sessions: Sessions
  readonly statements: OutboxStatements
  /** Checks the server and brings the tables up to date. */
  readonly prepare: () => Promise<void>
  /** Schema or database of its table. */
  readonly place: string
  readonly options: Complete<OutboxOptions, 'maxAttempts' | 'observe'>
}

/** Characters that a key has of its idempotency key: the last one is not whole. */
const SHARED = 21

/** Those that people see at once. */
const MOST_REFUSED = 100

/** The outbox in a database. */
export class OutboxInSql implements SqlOutbox, OutgoingPlace {
  readonly #sessions: Sessions
  readonly #statements: OutboxStatements
  readonly #table: SqlOutboxTable
  readonly #relay: Relay
  readonly #publishers: OutboxParts['options']['publishers']
  readonly isBesideConsumers: boolean
  /** Schema or database of its table. */
  readonly place: string

  constructor({ sessions, statements, prepare, options, place }: OutboxParts) {
    const { publishers, relay, pollMs, maxAttempts, observe } = options
    this.#sessions = sessions
    this.#statements = statements
    this.#table = new SqlOutboxTable(sessions, statements, prepare)
    this.#publishers = publishers
    const { kafka, rabbitmq } = publishers
    const publish = {
      ...(kafka !== undefined && { kafka: (message: unknown) => kafka.publish(message) }),
      ...(rabbitmq !== undefined && { rabbitmq: (message: unknown) => rabbitmq.publish(message) }),
    }
    const times = { pollMs, maxAttempts, clock: systemClock, entropy: systemEntropy }
    const tell = observe ?? warning()
    this.#relay = new Relay({ table: this.#table, publish, ...times, tell })
    this.isBesideConsumers = relay
    this.place = place
  }

  publishing(): Publishing {
    return new RunPublishing()
  }

  checkup(): Promise<readonly CheckFinding[]> {
    const { place, isBesideConsumers: relay } = this
    const options = { publishers: this.#publishers, relay }
    return checkOutbox({ sessions: this.#sessions, statements: this.#statements, place, options })
  }

  open(): Promise<void> {
    return this.#table.open()
  }

  start(): void {
    this.#relay.start()
  }

  async stop(withinMs: DurationMs = 0): Promise<void> {
    await this.#relay.stop(withinMs)
  }

  watch(listener: (event: RelayEvent) => void): void {
    this.#relay.watch(listener)
  }

  wake(): void {
    this.#relay.wake()
  }

  write(messages: readonly Outgoing[]): Script {
    return this.#statements.write(messages)
  }

  async publish(tx: QueryLike, messages: OutgoingMessage | readonly OutgoingMessage[]): Promise<void> {
    if (isPool(tx)) throw new ConfigError([POOL_GIVEN])
    if (Array.isArray(messages) && messages.length === 0) return
    const { text, values } = this.statement(messages)
    await tx.query(text, values)
  }

  statement(messages: OutgoingMessage | readonly OutgoingMessage[]): {
    readonly text: string
    readonly values: unknown[]
  } {
    const all = (Array.isArray(messages) ? messages : [messages]) as readonly OutgoingMessage[]
    if (all.length === 0) throw new ConfigError(['statement: expected at least one message, got none'])
    const outgoing = all.map((message) => {
      const messageId = randomUUID()
      return outgoingOf(message, { messageId, order: messageId })
    })
    const { text, values } = this.#statements.writeWith(outgoing)
    return { text, values: [...values] }
  }

  async backlog(): Promise<readonly OutboxBacklog[]> {
    return (await this.#asked(this.#statements.backlog())).map(backlogOf)
  }

  async refused(): Promise<readonly OutboxRefused[]> {
    return (await this.#asked(this.#statements.refused(MOST_REFUSED))).map(refusedOf)
  }

  async unconfirmedOf(key: Key): Promise<readonly OutboxRefused[]> {
    const keys = isSequenceKey(key) ? 'sequences' : 'ids'
    const found = await this.#asked(this.#statements.beginning(key.slice(0, SHARED)))
    return found
      .map(refusedOf)
      .filter(({ messageId }) => keyOfProvider(messageId, keys) === key)
      .slice(0, MOST_REFUSED)
  }

  async redrive(ids: readonly string[]): Promise<number> {
    const wrong = ids.find((id) => !/^\d{1,19}$/.test(id))
    if (wrong !== undefined) {
      throw new ConfigError([`redrive: expected IDs of refused() such as "17", got ${JSON.stringify(wrong)}`])
    }
    if (ids.length === 0) return 0
    const rows = await this.#asked(this.#statements.unpark(ids))
    this.wake()
    return rows.length
  }

  /** For people: makes no table. */
  async #asked<Row>(script: Script<Row>): Promise<readonly Row[]> {
    try {
      return await this.#sessions.committed(script)
    } catch (error) {
      if (this.#statements.isBeforeTables(error)) return []
      throw error
    }
  }
}

const POOL_GIVEN =
  'publish: tx: expected a client whose transaction is open, such as one of pool.connect() or pool.getConnection(), got a pool: it would write outside of the transaction'

/** Of `pg`, or of `mysql2/promise`. */
function isPool(tx: QueryLike): boolean {
  return 'totalCount' in tx || 'getConnection' in tx
}

/**
 * Where nobody observes, the process is warned: of each message that is parked, and of each place that refuses, once, and
 * once more where it refuses another message after it has published some.
 */
function warning(): (event: RelayEvent) => void {
  const told = new Map<string, { readonly messageId: string; isMended: boolean }>()
  return (event) => {
    if (event.event === 'waits') return
    const last = told.get(event.place)
    if (event.event === 'published') {
      if (last !== undefined) last.isMended = true
      return
    }
    const { place, messageId, cause } = event
    if (event.event === 'failed' && last !== undefined && (!last.isMended || last.messageId === messageId)) return
    told.set(place, { messageId, isMended: false })
    const what = event.event === 'parked' ? 'is parked' : 'is tried again'
    process.emitWarning(`the outbox could not publish ${messageId} to ${place}, and it ${what}: ${cause}`, {
      code: 'CONSUME_ONCE_OUTBOX',
    })
  }
}

/**
 * What was given to a store as its outbox.
 *
 * @param place - schema or database of the store
 * @throws ConfigError for something else, or one that lies elsewhere
 */
export function outboxGiven(store: string, outbox: SqlOutbox, maker: string, place: string): OutboxInSql {
  if (!(outbox instanceof OutboxInSql)) {
    throw new ConfigError([`${store}: outbox: expected the result of ${maker}({ pool, publishers })`])
  }
  if (outbox.place === place) return outbox
  throw new ConfigError([`${store}: outbox: expected one in ${place}, as the store, got one in ${outbox.place}`])
}
