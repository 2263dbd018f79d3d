import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { Pool, PoolConnection } from 'mysql2/promise'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { describeMariadb, lend, newMysqlPlace, NO_REFUND, threadOf, type MysqlPlace } from '../../test/mysql/support.ts'

/** What a handler may leave in the session of its connection: `OTHER` is another database, `LOCK` a name. */
const LEFT: readonly (readonly [what: string, ...statements: readonly string[]])[] = [
  ['another database', 'use OTHER'],
  ['autocommit off, in a list', 'set @a = 1, autocommit = 0'],
  ['autocommit off, behind a comment', '/* off */ set session autocommit = 0'],
  ['autocommit off, in a procedure', 'call no_autocommit()'],
  ['an sql_mode', "set sql_mode = ''"],
  ['an sql_mode, in a procedure', 'call no_mode()'],
  ['an isolation level', 'set session transaction isolation level serializable'],
  ['a session that only reads', 'set session transaction read only'],
  ['a time zone', "set time_zone = '+05:00'"],
  ['names', 'set names latin1'],
  ['unchecked keys', 'set foreign_key_checks = 0'],
  ['a clock that stands still', 'set timestamp = 1'],
  ['a limit of rows', 'set session sql_select_limit = 1'],
  ['a user variable', "set @tenant = 'a'"],
  ['a user variable, in a select', "select @tenant := 'a'"],
  ['a user variable, of a select', "select 'a' into @tenant"],
  ['a lock', "select get_lock('LOCK', 0)"],
  ['a lock, without an answer', "do get_lock('LOCK', 0)"],
  ['a temporary table', 'create temporary table own (a int)'],
  ['a prepared statement', "prepare own from 'select 1'"],
  ['something, before a failure', 'call no_mode_then_failure()'],
]

const HARMLESS: readonly (readonly [what: string, ...statements: readonly string[]])[] = [
  ['a read', 'select 1'],
  ['a read, behind a comment', '/* why */ select 1'],
  ['a write', "insert into effect (name) values ('set autocommit = 0, use other')"],
  ['a procedure', 'call writes()'],
  ['a savepoint', 'savepoint here', "insert into effect (name) values ('b')", 'rollback to savepoint here'],
  ['a failure', 'savepoint here', 'select * from nothing', 'rollback to savepoint here'],
]

/** The session as others see it. */
const SESSION = `select database() as db, @@session.autocommit as autocommit, @@session.sql_mode as mode, @@session.time_zone as zone,
  @@session.character_set_client as client, @@session.foreign_key_checks as fks, @@session.sql_select_limit as most, @tenant as tenant,
  @@session.wait_timeout as idle, @@session.innodb_lock_wait_timeout as waits, @@session.session_track_state_change as tracks,
  abs(timestampdiff(second, now(), sysdate())) < 3600 as is_now, is_used_lock('LOCK') as locked_by`
const LEVELS =
  "show session variables where variable_name in ('tx_isolation', 'transaction_isolation', 'tx_read_only', 'transaction_read_only')"

describeMariadb('what a handler of mysqlInbox leaves in its session', () => {
  let place: MysqlPlace
  let other: string
  let lock: string
  let pool: Pool
  let untouched: Record<string, unknown>
  beforeEach(async () => {
    place = await newMysqlPlace()
    other = uniqueName('tenant')
    lock = uniqueName('lock')
    await place.pool.query(`create database ${other}`)
    await place.pool.query(`create table ${other}.effect (name varchar(200) not null) engine = InnoDB`)
    for (const [name, body] of [
      ['no_autocommit', 'set session autocommit = 0;'],
      ['no_mode', "set session sql_mode = '';"],
      ['no_mode_then_failure', "set session sql_mode = ''; select * from nothing;"],
      ['writes', "insert into effect (name) values ('a');"],
    ]) {
      await place.pool.query(`create procedure ${name}() begin ${body} end`)
    }
    pool = place.newPool({ connectionLimit: 2 })
    const fresh = await place.newPool({ connectionLimit: 1 }).getConnection()
    untouched = await sessionOf((sql) => fresh.query(sql))
    fresh.release()
  })
  afterEach(async () => {
    // Those that a handler has left in another database.
    const left = await place.rows(`select id from information_schema.processlist where db = '${other}'`)
    for (const { id } of left) await place.rows(`kill ${Number(id)}`).catch(() => {})
    await place.close()
    const after = await newMysqlPlace()
    await after.pool.query(`drop database ${other}`)
    await after.close()
  })

  for (const end of ['mark', 'release'] as const) {
    it.each(LEFT)(`reaches nobody, after ${end}: %s`, async (_, ...statements) => {
      const inbox = await place.newInbox({ pool })
      const item = newItem()
      const { claim: claimed } = await hold(inbox, item)
      const { tx } = lend(claimed)
      await place.write(tx, 'before')
      for (const sql of statements) await tx.query(filled(sql)).catch(() => {})
      if (end === 'mark') await inbox.mark([claimed]).catch(() => {})
      else await inbox.release([claimed], NO_REFUND)

      // The next message.
      const { claim: next } = await hold(inbox, newItem())
      const ofNext = lend(next).tx
      expect(await sessionOf((sql) => ofNext.query(sql), ofNext)).toEqual(untouched)
      await inbox.release([next], NO_REFUND)
      // The application's own use of the pool.
      const both = await Promise.all([pool.getConnection(), pool.getConnection()])
      for (const connection of both) expect(await sessionOf((sql) => connection.query(sql))).toEqual(untouched)
      await both[0].query("insert into effect (name) values ('own')")
      for (const connection of both) connection.release()
      expect(await place.committed('own')).toBe(1)
      // A consumer that opens later.
      const later = await place.newInbox({ pool })
      const mark = newItem()
      expect(await later.mark([(await hold(later, mark)).claim])).toEqual(['marked'])
      expect(await claim(inbox, mark)).toMatchObject({ verdict: 'done' })
      expect(
        await place.rows(`select table_name as name from information_schema.tables where table_schema = '${other}'`),
      ).toEqual([{ name: 'effect' }])
    })
  }

  it.each(HARMLESS)('costs no connection if it is nothing: %s', async (_, ...statements) => {
    const inbox = await place.newInbox({ pool })
    const threads = new Set<number>()
    for (let messages = 0; messages < 3; messages++) {
      const { claim: claimed } = await hold(inbox, newItem())
      const { tx } = lend(claimed)
      threads.add(await threadOf(tx))
      for (const sql of statements) await tx.query(sql).catch(() => {})
      await tx.execute('insert into effect (name) values (?)', ['prepared'])
      expect(await inbox.mark([claimed])).toEqual(['marked'])
    }
    expect([...threads]).toHaveLength(1)
  })

  it('is not what tells the facts of the pool: those come from its configuration, and from sessions as it makes them', async () => {
    const connections: PoolConnection[] = [await pool.getConnection(), await pool.getConnection()]
    for (const connection of connections) {
      for (const sql of [`use ${other}`, "set sql_mode = ''", 'set session transaction isolation level serializable']) {
        await connection.query(sql)
      }
      connection.release()
    }
    const inbox = await place.newInbox({ pool })
    expect(
      (await inbox.checkup?.())?.filter(({ verdict, check }) => verdict === 'broken' && !check.endsWith('flush')),
    ).toEqual([])
    const { claim: claimed } = await hold(inbox, newItem())
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect(await place.rows('select outcome from consume_once_inbox')).toEqual([{ outcome: 'd' }])
  })

  function filled(sql: string): string {
    return sql.replaceAll('OTHER', other).replaceAll('LOCK', lock)
  }

  async function sessionOf(
    ask: (sql: string) => Promise<[unknown, unknown]>,
    tx?: MysqlTransaction,
  ): Promise<Record<string, unknown>> {
    const [[row]] = (await ask(filled(SESSION))) as [Record<string, unknown>[], unknown]
    const levels = ((await ask(LEVELS))[0] as { Value: string }[]).map(({ Value }) => Value)
    const seen = { ...row, levels }
    // A transaction of handlers has some settings of its own, until it ends, and no statement may fail in it.
    if (tx !== undefined) return { ...untouched, ...seen, idle: untouched['idle'], tracks: untouched['tracks'] }
    const absent: string[] = []
    for (const sql of ['select * from own', 'execute own']) await ask(sql).catch(() => absent.push(sql))
    return { ...seen, absent }
  }
})
