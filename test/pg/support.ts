import { describe } from '@jest/globals'
import { Pool, type PoolConfig } from 'pg'
import {
  postgresMigrationSql,
  postgresInbox,
  postgresInboxSequences,
  postgresOffsets,
  type ClientLike,
  type PostgresMigrationSqlOptions,
  type PgTransaction,
  type PoolLike,
  type PostgresInboxOptions,
  type PostgresOffsetsOptions,
} from '../../adapters/pg/index.ts'
import type { InboxStore, OffsetsStore, SequenceOptions } from '../../src/internal.ts'
import type { InboxHarness, OffsetsHarness } from '../../testing/contract/store/harness.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { evadingTexts, POSTGRES_COMMENTS, POSTGRES_ENDINGS } from '../kit/evading-texts.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'

export { codeOf } from '../kit/code-of.ts'
export { lend } from '../kit/lend.ts'

export const describePostgres: typeof describe | typeof describe.skip = backends.has('postgres')
  ? describe
  : describe.skip

export const NO_REFUND = { refund: false, doubt: false }
export const REFUND = { refund: true, doubt: false }
export const ALONE = { alone: true }

/** A schema of one test, for the inbox and its effects, with as many pools as the test wants. */
export interface PgPlace {
  readonly schema: string
  /** Outside all inboxes. */
  readonly pool: Pool
  readonly newPool: (config?: PoolConfig) => Pool
  /** Opened, on a pool of its own unless one is given. */
  readonly newInbox: (options?: Partial<PostgresInboxOptions>) => Promise<InboxStore<PgTransaction>>
  readonly newOffsets: (options?: Partial<PostgresOffsetsOptions>) => Promise<OffsetsStore<PgTransaction>>
  /** Another hand moves a stream, whatever its scope; `undefined` deletes its row. */
  readonly move: (stream: string, next: bigint | undefined) => Promise<void>
  readonly write: (tx: PgTransaction, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
  /** Changes the tables themselves. */
  readonly alter: (text: string) => Promise<void>
  /** From now on the COMMIT of an effect waits. */
  readonly holdCommits: (table?: string) => Promise<HeldCommits>
  /** Resolves when some transaction of this schema waits for another. */
  readonly waiting: () => Promise<void>
  /** Ends a backend, as an administrator or a crash does. */
  readonly terminate: (pid: number) => Promise<void>
  /** Makes it as new, with all pools but its own ended; false where its tables were altered. */
  readonly empty: () => Promise<boolean>
  /** Every claim must be over by then: a pool waits for the connections that are out. */
  readonly close: () => Promise<void>
}

interface HeldCommits {
  /** Resolves when a COMMIT waits, or so many of them. */
  readonly waiting: (most?: number) => Promise<void>
  readonly letGo: () => Promise<unknown>
  /** Those that come from now on wait again. */
  readonly hold: () => Promise<unknown>
}

export async function newPlace(url?: string, made?: PostgresMigrationSqlOptions): Promise<PgPlace> {
  const connectionString = url ?? (await server('postgres')).url
  const schema = uniqueName('inbox')
  const pools: Pool[] = []
  const newPool = (config: PoolConfig = {}): Pool => {
    const pool = new Pool({ connectionString, max: 5, ...config })
    pools.push(pool)
    return pool
  }
  const pool = newPool({ max: 2 })
  pool.on('error', () => {})
  await pool.query(made === undefined ? `create schema ${schema}` : postgresMigrationSql({ ...made, schema }))
  await pool.query(`create table ${schema}.effect (name text not null)`)
  let isAltered = false
  const alter = async (text: string): Promise<void> => {
    isAltered = true
    await pool.query(text)
  }
  /** What a test left open must not be waited for. */
  const endOthers = async (): Promise<void> => {
    await pool.query(
      `select pg_terminate_backend(l.pid, 5000) from pg_locks l join pg_class c on c.oid = l.relation
       join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and l.pid <> pg_backend_pid()`,
      [schema],
    )
    await Promise.all(pools.splice(1).map((one) => one.end()))
  }
  return {
    schema,
    pool,
    newPool,
    async newInbox(options) {
      const inbox = postgresInbox({ pool: options?.pool ?? newPool(), schema, ...options })
      await inbox.open()
      return inbox
    },
    async newOffsets(options) {
      const store = postgresOffsets({ pool: options?.pool ?? newPool(), schema, ...options })
      await store.open()
      return store
    },
    async move(stream, next) {
      const { rowCount } =
        next === undefined
          ? await pool.query(`delete from ${schema}.position where stream = $1`, [stream])
          : await pool.query(`update ${schema}.position set next_offset = $2 where stream = $1`, [stream, String(next)])
      if (rowCount !== 1) throw new Error(`expected one row of ${stream}, got ${rowCount}`)
    },
    write: (tx, effect) => tx.query(`insert into ${schema}.effect (name) values ($1)`, [effect]),
    async committed(effect) {
      const { rows } = await pool.query(`select count(*)::int as n from ${schema}.effect where name = $1`, [effect])
      return (rows as { n: number }[])[0]?.n ?? 0
    },
    alter,
    async holdCommits(table = 'effect') {
      const lock = `hashtext('${schema}')`
      const holder = newPool({ max: 1, idleTimeoutMillis: 0 })
      const hold = (): Promise<unknown> => holder.query(`select pg_advisory_lock(${lock})`)
      await hold()
      await alter(`create function ${schema}.held() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock_shared(${lock}); return null; end $$;
        create constraint trigger held after insert on ${schema}.${table} deferrable initially deferred
        for each row execute function ${schema}.held()`)
      const waiting = `select 1 from pg_locks where locktype = 'advisory' and objid::int8 = ${lock}::int8 & 4294967295 and not granted`
      return {
        waiting: (most = 1) => eventually(async () => ((await pool.query(waiting)).rowCount ?? 0) >= most),
        letGo: () => holder.query('select pg_advisory_unlock_all()'),
        hold,
      }
    },
    async waiting() {
      const blocked = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}%'`
      for (let tries = 0; (await pool.query(blocked)).rowCount === 0; tries++) {
        if (tries === 500) throw new Error(`expected somebody to wait in ${schema}`)
        await pool.query('select pg_sleep(0.01)')
      }
    },
    async terminate(pid) {
      await pool.query('select pg_terminate_backend($1, 5000)', [pid])
    },
    async empty() {
      if (isAltered) return false
      await endOthers()
      const { rows } = await pool.query(
        `select string_agg(format('delete from %I.%I', schemaname, tablename), ';') as text from pg_tables
         where schemaname = $1 and tablename <> 'migration'`,
        [schema],
      )
      await pool.query((rows as { text: string }[])[0]?.text ?? '')
      await pool.query(
        `select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) from pg_sequences where schemaname = $1`,
        [schema],
      )
      return true
    },
    async close() {
      await endOthers()
      await pool.query(`drop schema if exists ${schema} cascade`)
      await pool.end()
    },
  }
}

export async function pgHarness(
  options?: Partial<PostgresInboxOptions>,
  made?: PostgresMigrationSqlOptions,
  openPlace: () => Promise<PgPlace> = () => newPlace(undefined, made),
): Promise<InboxHarness<PgTransaction>> {
  const place = await openPlace()
  return {
    ...effectsOf(place),
    store: await place.newInbox(options),
    spoil: async (key) => {
      await place.alter(`alter table ${place.schema}.inbox drop constraint if exists inbox_outcome_check;
        update ${place.schema}.inbox set outcome = 'Z' where key = '\\x${bytesOf(key)}'`)
    },
    secondStore: () => place.newInbox(options),
  }
}

/** An inbox of numbered messages. */
export async function inboxSequencesHarness(
  sequences: SequenceOptions = {},
  openPlace: () => Promise<PgPlace> = newPlace,
): Promise<InboxHarness<PgTransaction> & { readonly store: InboxStore<PgTransaction>; readonly place: PgPlace }> {
  const place = await openPlace()
  const open = async (): Promise<InboxStore<PgTransaction>> => {
    const { schema } = place
    const store = postgresInboxSequences({ pool: place.newPool(), schema, ...sequences })
    await store.open()
    return store
  }
  return {
    ...effectsOf(place),
    place,
    store: await open(),
    secondStore: open,
    spoil: async (key) => {
      const bytes = Buffer.from(key, 'base64url').toString('hex')
      await place.alter(`alter table ${place.schema}.inbox drop constraint if exists inbox_outcome_check;
        update ${place.schema}.inbox set outcome = 'Z' where key = '\\x${bytes}'`)
    },
  }
}

export async function offsetsHarness(
  openPlace: () => Promise<PgPlace> = newPlace,
): Promise<OffsetsHarness<PgTransaction>> {
  const place = await openPlace()
  return {
    ...effectsOf(place),
    store: await place.newOffsets(),
    secondStore: async () => await place.newOffsets(),
    move: place.move,
  }
}

const TEXTS = evadingTexts(POSTGRES_ENDINGS, POSTGRES_COMMENTS)

let evaded = 0

/** Each law goes on where the one before it has ended, so that together they try them all. */
export async function evadePostgres(tx: PgTransaction): Promise<string> {
  const { text, hasValues } = TEXTS[evaded++ % TEXTS.length] ?? { text: 'commit', hasValues: false }
  await (hasValues ? tx.query(text, []) : tx.query({ text })).catch(() => {})
  return text
}

function effectsOf(place: PgPlace): Omit<InboxHarness<PgTransaction>, 'store' | 'secondStore'> {
  return {
    write: place.write,
    stall: (tx) => tx.query('select pg_sleep(0.5)'),
    query: (tx, text) => tx.query(text),
    fail: (tx) => tx.query('select 1 / 0'),
    evade: evadePostgres,
    committed: place.committed,
    close: place.close,
  }
}

/** In hex, as tables keep them: of a key, or of a digest. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'base64url').toString('hex', 0, 16)
}

export async function pidOf(tx: PgTransaction): Promise<number> {
  const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** Calls `onQuery` before each statement. What `onQuery` throws, the statement throws. */
export function withQueryHook(pool: Pool, onQuery: (text: string) => Promise<void>): PoolLike {
  const connect = async (): Promise<ClientLike> => {
    const client = await pool.connect()
    return {
      query: async (query: string | { text: string }, values?: unknown[]) => {
        await onQuery(typeof query === 'string' ? query : query.text)
        return client.query(query as string, values as unknown[])
      },
      release: (error) => client.release(error),
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
    }
  }
  return {
    options: pool.options,
    connect,
    on: (event, listener) => pool.on(event, listener),
    listenerCount: (event) => pool.listenerCount(event),
  }
}
