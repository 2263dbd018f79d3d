import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { postgresMigrationSql, postgresOffsets } from '../../../adapters/pg/index.ts'
import { defineConsumer, positionsOf } from '../../../src/index.ts'
import type { HoldVerdict } from '../../../src/internal.ts'
import { withPostgres } from '../../../test/kit/servers/clients.ts'
import { scopeText } from '../../../src/consumer/scope.ts'
import { CONSUMER } from '../identity.ts'
import { EFFECTS } from '../settings.ts'
import { trueTimeOf } from './wall-clock.ts'

/** An effect row with its transaction and the true time of its COMMIT. */
export interface CommittedEffect {
  readonly id: string
  readonly process: string
  readonly token: string
  readonly xid: string
  readonly at: number
}

export interface InboxRow {
  readonly outcome: 'd' | 'g' | 'p'
  readonly xid: string
  readonly at: number
  readonly reason: string | null
}

/** One write of a lease record, with the true time of its COMMIT. */
export interface LeaseRow {
  readonly state: 'P' | 'R' | 'D' | 'G' | 'X'
  readonly fence: number
  readonly attempts: number
  readonly doubt: boolean
  readonly owner: string
  readonly rest: string
  readonly lease_until: number
  readonly keep_until: number
  readonly at: number
}

/** One move of a stored position, with the true time of its COMMIT. */
export interface PositionRow {
  readonly next: number
  readonly xid: string
  readonly at: number
}

const SCHEMA = 'faults'

/** Triggers keep every write of leases and positions: a row alone shows only its last state. */
const TOLD = `
create table ${SCHEMA}.lease_write (serial bigserial, key bytea, state text, fence int, attempts int, doubt boolean, owner text,
  rest text, lease_until float8, keep_until float8);
create function ${SCHEMA}.tell_lease() returns trigger language plpgsql as $$ begin
  insert into ${SCHEMA}.lease_write values (default, new.key, new.state, new.fence, new.attempts, new.doubt, new.owner, new.rest,
    extract(epoch from new.lease_until) * 1000, extract(epoch from new.keep_until) * 1000);
  return null;
end $$;
create trigger tell after insert or update on ${SCHEMA}.lease for each row execute function ${SCHEMA}.tell_lease();
create table ${SCHEMA}.position_write (serial bigserial, stream text, next bigint);
create function ${SCHEMA}.tell_position() returns trigger language plpgsql as $$ begin
  insert into ${SCHEMA}.position_write values (default, new.stream, new.next_offset);
  return null;
end $$;
create trigger tell after update of next_offset on ${SCHEMA}.position for each row execute function ${SCHEMA}.tell_position();`

/** A state that a newer version may have written. */
const ANY_STATE = `
alter table ${SCHEMA}.lease drop constraint lease_state_check;
alter table ${SCHEMA}.inbox drop constraint inbox_outcome_check;`

/** A Postgres with the tables of all stores and of effects, for all cells. It tracks commit timestamps. */
export class PostgresSide implements AsyncDisposable {
  readonly schema: string = SCHEMA
  #url: string
  #pool: Pool

  private constructor(url: string, pool: Pool) {
    this.#url = url
    this.#pool = pool
  }

  static async open(url: string): Promise<PostgresSide> {
    const pool = poolOf(url)
    await pool.query(postgresMigrationSql({ schema: SCHEMA }))
    // No unique key: the table must be able to show a second effect.
    await pool.query(`create table ${SCHEMA}.${EFFECTS}
      (serial bigserial, id text, process text, token text, xid xid8 default pg_current_xact_id())`)
    await pool.query(TOLD)
    await pool.query(ANY_STATE)
    return new PostgresSide(url, pool)
  }

  get url(): string {
    return this.#url
  }

  async effects(ids: readonly string[]): Promise<readonly CommittedEffect[]> {
    const { rows } = await this.#pool.query<CommittedEffect>(
      `select id, process, token, xid::text, ${COMMITTED_AT} from ${SCHEMA}.${EFFECTS} where id = any ($1) order by serial`,
      [ids],
    )
    return rows.map((row) => ({ ...row, at: trueTimeOf(row.at) }))
  }

  /** The inbox record of a key, if a store can read it. */
  async record(key: string): Promise<InboxRow | undefined> {
    const { rows } = await this.#pool.query<InboxRow>(
      `select outcome, xmin::text as xid, reason, ${COMMITTED_AT} from ${SCHEMA}.inbox where key = $1 and outcome in ('d', 'g', 'p')`,
      [Buffer.from(key, 'base64url')],
    )
    return rows[0] && { ...rows[0], at: trueTimeOf(rows[0].at) }
  }

  /** Writes a row in a state that no store can read. */
  async spoil(store: 'inbox' | 'lease on postgres', group: string, key: string): Promise<void> {
    const scope = `select id from ${SCHEMA}.scope where name = $1`
    const insert =
      store === 'inbox'
        ? `insert into ${SCHEMA}.inbox (scope, key, outcome) values ((${scope}), $2, 'z')`
        : `insert into ${SCHEMA}.lease values (now(), 'infinity', 1, 1, (${scope}), 'Z', false, $2, '', '', '')`
    await this.#pool.query(insert, [scopeText([group, CONSUMER]), Buffer.from(key, 'base64url')])
  }

  /** All writes of a record, in order. */
  async leaseWrites(key: string): Promise<readonly LeaseRow[]> {
    const { rows } = await this.#pool.query<LeaseRow>(
      `select state, fence, attempts, doubt, owner, rest, lease_until, keep_until, ${COMMITTED_AT}
      from ${SCHEMA}.lease_write where key = $1 and state <> 'Z' order by serial`,
      [Buffer.from(key, 'base64url')],
    )
    return rows.map((row) => ({
      ...row,
      lease_until: trueTimeOf(row.lease_until),
      keep_until: trueTimeOf(row.keep_until),
      at: trueTimeOf(row.at),
    }))
  }

  /** All moves of a stream, in order. */
  async moves(stream: string): Promise<readonly PositionRow[]> {
    const { rows } = await this.#pool.query<PositionRow>(
      `select next::int, xmin::text as xid, ${COMMITTED_AT} from ${SCHEMA}.position_write where stream = $1 order by serial`,
      [stream],
    )
    return rows.map((row) => ({ ...row, at: trueTimeOf(row.at) }))
  }

  /** Releases the partition, as a person does after looking at the topic. */
  async releaseHold(group: string, stream: string): Promise<HoldVerdict> {
    const store = postgresOffsets({ pool: this.#pool, schema: SCHEMA, setup: 'check' })
    const consumer = defineConsumer({ name: CONSUMER, store, handle: () => {} })
    await store.open()
    const how = { goOnFrom: 'beginning', by: 'faults', reason: 'the topic was created anew' } as const
    return await positionsOf(consumer, { group }).release(stream, how)
  }

  /** Terminates all backends of a worker, as an administrator does. */
  async terminate(applicationName: string): Promise<void> {
    const terminated = 'select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1'
    await this.#pool.query(terminated, [applicationName])
  }

  /** Detaches the replica once it has everything that was committed up to now. */
  async leaveBehind(replica: string): Promise<void> {
    const { rows } = await this.#pool.query<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn')
    await withPostgres(replica, async (client) => {
      const is = async (condition: string, values: unknown[] = []): Promise<boolean> =>
        (await client.query<{ is: boolean }>(`select ${condition} as is`, values)).rows[0]?.is === true
      while (!(await is('pg_last_wal_replay_lsn() >= $1::pg_lsn', [rows[0]?.lsn]))) await sleep(LOOK_EVERY_MS)
      await client.query(`alter system set primary_conninfo = ''`)
      await client.query('select pg_reload_conf()')
      while (!(await is('not exists (select from pg_stat_wal_receiver)'))) await sleep(LOOK_EVERY_MS)
    })
  }

  /** Promotes the replica, and uses it from then on. */
  async promote(replica: string): Promise<void> {
    await this.#pool.end()
    this.#url = replica
    this.#pool = poolOf(replica)
    await this.#pool.query('select pg_promote()')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
  }
}

const COMMITTED_AT = 'extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as at'

const LOOK_EVERY_MS = 10

function poolOf(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  return pool
}
