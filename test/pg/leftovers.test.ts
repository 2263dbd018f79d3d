import { beforeEach, expect, it } from '@jest/globals'
import type { Pool } from 'pg'
import { pgClient } from '../../adapters/pg/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { openedForEach } from '../kit/opened.ts'
import { uniqueName } from '../kit/namespace.ts'
import { describePostgres, lend, newPlace, NO_REFUND, type PgPlace } from './support.ts'

type Sent = readonly [text: string, values?: readonly unknown[]]

/** What a handler may leave in the session of its connection: `SCHEMA` has a table `effect`, `NAME` is unique. */
const LEFT: readonly (readonly [what: string, ...statements: readonly Sent[]])[] = [
  ['a search path', ['set search_path = SCHEMA']],
  ['a search path, behind a comment', ['/* local */ set search_path = SCHEMA']],
  ['a search path, by a function', [`select set_config('search_path', 'SCHEMA', false)`]],
  ['a search path, by a parameter', ['select set_config($1, $2, $3)', ['search_path', 'SCHEMA', false]]],
  [
    'a search path, beside a local one',
    [`select set_config('a.b', coalesce('x', ''), true), set_config('search_path', 'SCHEMA', false)`],
  ],
  ['a role', ['set role pg_monitor']],
  ['another user', ['set session authorization pg_monitor']],
  ['a time-out', ['set statement_timeout = 7']],
  ['an isolation level', ['set session characteristics as transaction isolation level serializable']],
  ['a session that only reads', ['set session characteristics as transaction read only']],
  ['a setting of its own', [`set app.tenant = 'a'`]],
  ['a channel', ['listen "NAME"']],
  ['a lock', [`select pg_advisory_lock(hashtext('NAME'))`]],
  ['a lock, if it is free', [`select pg_try_advisory_lock_shared(hashtext('NAME'))`]],
  ['a temporary table', ['create temporary table own (a int)']],
  ['a temporary table, of a query', ['select 1 as a into temp own']],
  ['a prepared statement', ['prepare own as select 1']],
  ['a cursor', ['declare own cursor with hold for select 1']],
]

const HARMLESS: readonly (readonly [what: string, ...statements: readonly Sent[]])[] = [
  ['a read', ['select 1']],
  ['an update', [`update SCHEMA.effect set name = 'pg_temp, set role'`]],
  ['a local setting', [`set local app.tenant = 'a'`]],
  ['a local setting, by a function', [`select set_config('app.tenant', coalesce($1, ''), true)`, ['a']]],
  ['a local setting, by a parameter', ['select set_config($1, $2, $3)', ['app.tenant', 'a', true]]],
  ['a lock of the transaction', [`select pg_advisory_xact_lock(hashtext('NAME'))`]],
  ['a temporary table of the transaction', ['create temp table own (a int) on commit drop']],
  ['a savepoint', ['savepoint here'], ['rollback to savepoint here']],
]

/** The session as others see it. */
const SESSION = `select current_setting('search_path') as path, current_setting('role') as role, session_user::text as "user",
  current_setting('statement_timeout') as timeout, coalesce(current_setting('app.tenant', true), '') as tenant,
  (select count(*)::int from pg_listening_channels()) as channels,
  (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
  to_regclass('pg_temp.own') is not null as has_table,
  (select count(*)::int from pg_prepared_statements where name = 'own') as prepared,
  (select count(*)::int from pg_cursors where name = 'own') as cursors`

const LEVELS = `, current_setting('default_transaction_isolation') as level, current_setting('default_transaction_read_only') as only`

describePostgres('what a handler of postgresInbox leaves in its session', () => {
  let place: PgPlace
  let name: string
  let pool: Pool
  openedForEach(newPlace, (made) => (place = made))
  beforeEach(() => {
    name = uniqueName('left')
    pool = place.newPool({ max: 2 })
  })

  for (const end of ['mark', 'release'] as const) {
    it.each(LEFT)(`reaches nobody, after ${end}: %s`, async (_, ...statements) => {
      const { rows: untouched } = await place.newPool({ max: 1 }).query(SESSION + LEVELS)
      const { rows: inTransaction } = await place.newPool({ max: 1 }).query(SESSION)
      const inbox = await place.newInbox({ pool })
      const { claim: claimed } = await hold(inbox, newItem())
      const { tx } = lend(claimed)
      await place.write(tx, 'before')
      for (const [text, values] of statements) await tx.query(filled(text), values?.map(filledValue))
      if (end === 'mark') await inbox.mark([claimed]).catch(() => {})
      else await inbox.release([claimed], NO_REFUND)

      // The next message.
      const { claim: next } = await hold(inbox, newItem())
      expect((await lend(next).tx.query(SESSION)).rows).toEqual(inTransaction)
      await inbox.release([next], NO_REFUND)
      // The application's own use of the pool.
      const both = await Promise.all([pool.connect(), pool.connect()])
      for (const client of both) expect((await client.query(SESSION + LEVELS)).rows).toEqual(untouched)
      for (const client of both) client.release()
      // A consumer that opens later.
      const later = await place.newInbox({ pool })
      const mark = newItem()
      expect(await later.mark([(await hold(later, mark)).claim])).toEqual(['marked'])
      expect(await claim(inbox, mark)).toMatchObject({ verdict: 'done' })
    })
  }

  it('reaches nobody through the client of an ORM', async () => {
    const inbox = await place.newInbox({ pool })
    const { rows: untouched } = await place.newPool({ max: 1 }).query(SESSION)
    const { claim: claimed } = await hold(inbox, newItem())
    await pgClient(lend(claimed).tx).query(filled('set search_path to SCHEMA'))
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect((await pool.query(SESSION)).rows).toEqual(untouched)
  })

  it.each<Sent>([
    ['set search_path to SCHEMA'],
    ['-- tenant\nset local search_path to SCHEMA'],
    [`set local app.tenant = 'a'`],
    [`select set_config('app.tenant', 'a', true)`],
    ['set local role pg_monitor'],
    ['create temporary table own (a int) on commit drop'],
  ])('ends the transaction before its next handler: %s', async (text) => {
    const inbox = await place.newInbox({ pool })
    const { claim: claimed } = await hold(inbox, newItem())
    expect(claimed.transaction.isChanged).toBe(false)
    await lend(claimed).tx.query(filled(text))
    expect(claimed.transaction.isChanged).toBe(true)
    await inbox.release([claimed], NO_REFUND)
  })

  it('shares the transaction of an update, whose SET stands in another place', async () => {
    const inbox = await place.newInbox({ pool })
    const { claim: claimed } = await hold(inbox, newItem())
    await lend(claimed).tx.query(filled(`update SCHEMA.effect\nset name = 'set role'`))
    expect(claimed.transaction.isChanged).toBe(false)
    await inbox.release([claimed], NO_REFUND)
  })

  it.each(HARMLESS)('costs no connection if it is nothing: %s', async (_, ...statements) => {
    const inbox = await place.newInbox({ pool })
    const backends = new Set<unknown>()
    for (let messages = 0; messages < 3; messages++) {
      const { claim: claimed } = await hold(inbox, newItem())
      const { tx } = lend(claimed)
      const { rows } = await tx.query('select pg_backend_pid() as pid')
      backends.add(rows[0]?.['pid'])
      for (const [text, values] of statements) await tx.query(filled(text), values?.map(filledValue))
      expect(await inbox.mark([claimed])).toEqual(['marked'])
    }
    expect([...backends]).toHaveLength(1)
  })

  it('is not what tells whether a pool may write: its sessions are asked as they are made', async () => {
    const clients = await Promise.all([pool.connect(), pool.connect()])
    for (const client of clients) await client.query('set session characteristics as transaction read only')
    for (const client of clients) client.release()
    const inbox = await place.newInbox({ pool })
    const { claim: claimed } = await hold(inbox, newItem())
    expect(await inbox.mark([claimed])).toEqual(['marked'])
  })

  function filled(text: string): string {
    return text.replaceAll('SCHEMA', place.schema).replaceAll('NAME', name)
  }

  function filledValue(value: unknown): unknown {
    return typeof value === 'string' ? filled(value) : value
  }
})
