import { randomUUID } from 'node:crypto'
import {
  ConfigError,
  flag,
  func,
  having,
  millis,
  needed,
  object,
  optionsOf,
  or,
  outgoingOf,
  Relay,
  RunPublishing,
  systemClock,
  systemEntropy,
  whole,
  type DurationMs,
  type OutboxBacklog,
  type OutboxParked,
  type Outgoing,
  type OutgoingMessage,
  type Publishing,
  type Table,
} from '../../../src/internal.ts'
import type { OutgoingPlace } from '../../sql/place.ts'
import { SQL } from '../../sql/options.ts'
import { checkServer } from '../check-server.ts'
import { sessionsOn } from '../database.ts'
import { POOL, SCHEMA } from '../options.ts'
import { migrate } from '../schema/migrate.ts'
import type { PgSessions } from '../sessions/session.ts'
import type { Script } from '../statements/statement.ts'
import { tablesIn, type Tables } from '../statements/tables.ts'
import { PgOutboxTable } from './outbox.ts'
import type { PostgresOutbox, PostgresOutboxOptions, QueryLike } from './types.ts'
import { backlog, parked, unpark, writeOutgoing, writeOutgoingWith } from './statements.ts'

const PUBLISHERS: Table<PostgresOutboxOptions['publishers'], 'kafka' | 'rabbitmq'> = {
  kafka: having('a confirmedPublisher', 'publish'),
  rabbitmq: having('a confirmedPublisher', 'publish'),
}

const OPTIONS: Table<PostgresOutboxOptions, 'maxAttempts' | 'observe'> = {
  pool: needed(POOL),
  publishers: needed(object(PUBLISHERS)),
  schema: SCHEMA,
  setup: SQL.setup,
  relay: or(true, flag()),
  pollMs: or(100, millis({ least: 1 })),
  maxAttempts: whole({ least: 1 }),
  observe: func(),
}

/** A broker may take this long to confirm, and no transaction of a relay may be ended before that. */
const IDLE_MS = 60_000

/**
 * An outbox in Postgres (13 or newer): what a handler publishes commits with its effect and its mark, and a relay publishes
 * it after that, at least once and under the same message ID. Give it to the store (`postgresInbox({ pool, outbox })`), or
 * write to it in transactions of your own (`publish(tx, message)`) and `start()` it.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresOutbox(options: PostgresOutboxOptions): PostgresOutbox {
  return new PgOutbox(options)
}

/** @internal */
export class PgOutbox implements PostgresOutbox, OutgoingPlace {
  readonly #sessions: PgSessions
  readonly #tables: Tables
  readonly #table: PgOutboxTable
  readonly #relay: Relay | undefined

  constructor(given: PostgresOutboxOptions) {
    const { pool, schema, setup, publishers, relay, pollMs, maxAttempts, observe } = optionsOf(
      'postgresOutbox',
      OPTIONS,
      given,
    )
    const sessions = sessionsOn({
      pool,
      schema,
      setup,
      lockTimeoutMs: SQL.lockTimeoutMs.default,
      queryTimeoutMs: SQL.queryTimeoutMs.default,
      idleInTransactionTimeoutMs: IDLE_MS,
    })
    this.#sessions = sessions
    this.#tables = tablesIn(schema)
    this.#table = new PgOutboxTable(sessions, this.#tables, async () => {
      await checkServer(sessions)
      await migrate(sessions, this.#tables, setup)
    })
    const { kafka, rabbitmq } = publishers
    this.#relay = relay
      ? new Relay({
          table: this.#table,
          publish: {
            ...(kafka !== undefined && { kafka: (message) => kafka.publish(message) }),
            ...(rabbitmq !== undefined && { rabbitmq: (message) => rabbitmq.publish(message) }),
          },
          pollMs,
          maxAttempts,
          clock: systemClock,
          entropy: systemEntropy,
          tell: observe ?? (() => {}),
        })
      : undefined
  }

  static of(outbox: PostgresOutbox): PgOutbox {
    if (outbox instanceof PgOutbox) return outbox
    throw new ConfigError(['postgresInbox: outbox: expected the result of postgresOutbox({ pool, publishers })'])
  }

  publishing(): Publishing {
    return new RunPublishing()
  }

  start(): void {
    this.#relay?.start()
  }

  async stop(withinMs: DurationMs = 0): Promise<void> {
    await this.#relay?.stop(withinMs)
  }

  wake(): void {
    this.#relay?.wake()
  }

  write(messages: readonly Outgoing[]): Script {
    return writeOutgoing(this.#tables, messages)
  }

  async publish(tx: QueryLike, messages: OutgoingMessage | readonly OutgoingMessage[]): Promise<void> {
    const { text, values } = this.statement(messages)
    if (values.length > 0) await tx.query(text, values)
  }

  statement(messages: OutgoingMessage | readonly OutgoingMessage[]): {
    readonly text: string
    readonly values: unknown[]
  } {
    const all = (Array.isArray(messages) ? messages : [messages]) as readonly OutgoingMessage[]
    const outgoing = all.map((message) => {
      const messageId = randomUUID()
      return outgoingOf(message, { messageId, order: messageId })
    })
    const { text, values = [] } = writeOutgoingWith(this.#tables, outgoing)
    return { text, values: [...values] }
  }

  async backlog(): Promise<readonly OutboxBacklog[]> {
    await this.#table.open()
    const rows = await this.#sessions.committed(backlog(this.#tables))
    return rows.map(({ system, place, waiting, failing, parked: set, oldest_s: seconds }) => ({
      system: system === 'k' ? 'kafka' : 'rabbitmq',
      place,
      waiting,
      failing,
      parked: set,
      oldestMs: Math.max(0, Math.round(seconds * 1_000)),
    }))
  }

  async parked(): Promise<readonly OutboxParked[]> {
    await this.#table.open()
    const rows = await this.#sessions.committed(parked(this.#tables, 100))
    return rows.map(({ id, place, message_id: messageId, cause, attempts }) => ({
      id,
      place,
      messageId,
      cause: cause ?? undefined,
      attempts,
    }))
  }

  async redrive(ids: readonly string[]): Promise<number> {
    const wrong = ids.find((id) => !/^\d{1,19}$/.test(id))
    if (wrong !== undefined)
      throw new ConfigError([`redrive: expected IDs of parked() such as "17", got ${JSON.stringify(wrong)}`])
    if (ids.length === 0) return 0
    await this.#table.open()
    const rows = await this.#sessions.committed(unpark(this.#tables, ids))
    this.wake()
    return rows.length
  }
}
