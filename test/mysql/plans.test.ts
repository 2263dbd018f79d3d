import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mysqlHistory } from '../../adapters/mysql2/history.ts'
import * as attempts from '../../adapters/mysql2/inbox/statements/attempts.ts'
import * as records from '../../adapters/mysql2/inbox/statements/records.ts'
import { lockLeases, writeLeases } from '../../adapters/mysql2/lease/statements/records.ts'
import { fillLanes, mysqlOutboxStatements } from '../../adapters/mysql2/outbox/statements.ts'
import { somethingToFlush } from '../../adapters/mysql2/statements/flush.ts'
import { notePurge, removeOver } from '../../adapters/mysql2/statements/purge.ts'
import type { Script } from '../../adapters/mysql2/statements/script.ts'
import { rowOf } from '../../adapters/sql/lease/record.ts'
import { outgoingOf } from '../../src/outbox/outgoing.ts'
import type { Script as AnyScript } from '../../adapters/sql/session.ts'
import { tablesIn, type Tables } from '../../adapters/mysql2/statements/tables.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from './support.ts'

/** `const`, `eq_ref`, `unique_subquery`: one row. `range`: the rows of the keys. `null`: no table at all. */
const BY_KEY = ['const', 'eq_ref', 'unique_subquery', 'range', null]

const SCOPE = 1

const ROW = {
  ...outgoingOf({ topic: 't', value: '' }, { messageId: 'id', order: '' }),
  attempts: 0,
  hasWaited: false,
}

describeMariadb('The plans of statements that lock', () => {
  let place: MysqlPlace

  beforeAll(async () => {
    place = await newMysqlPlace()
    await place.newInbox()
  })
  afterAll(() => place.close())

  it.each([5, 50, 5_000])('find their rows by key in tables of %i rows, and read no others', async (size) => {
    const tables = tablesIn(place.database)
    const there = newKeys(size)
    await fill(place, tables, there)
    const scans: object[] = []
    const explain = place.isMariadb ? 'explain' : 'explain format = traditional'
    for (const count of [1, 20, 100]) {
      const keys = [...there.slice(0, count), ...newKeys(Math.max(0, count - size))].toSorted()
      for (const statement of changing(tables, keys)) {
        for (const { table, type, rows, select_type: part } of await place.rows(`${explain} ${statement}`)) {
          // Rows are inserted, not looked for; what a derived table holds was read by another line of the plan.
          if (part === 'INSERT' || String(table).startsWith('<') || BY_KEY.includes(type as string | null)) continue
          scans.push({
            statement: statement.replaceAll(/x'[0-9a-f]+'(?:, x'[0-9a-f]+')*/g, '…'),
            count,
            part,
            table,
            type,
            rows,
          })
        }
      }
    }
    expect(scans).toEqual([])
  })

  it.each([5, 50, 5_000])('of an outbox find their rows by number in tables of %i rows', async (size) => {
    const tables = tablesIn(place.database)
    const { outbox, outboxLane } = tables
    for (const table of [outbox, outboxLane]) await place.pool.query(`delete from ${table}`)
    const row = `(0, 0, 'k', 'id', 't', '{}', utc_timestamp(6))`
    await place.pool.query(
      `insert into ${outbox} (lane, line, \`system\`, message_id, place, attributes, created_at) values ${Array.from({ length: size }, () => row).join(', ')}`,
    )
    const ids = (await place.rows(`select cast(id as char) as id from ${outbox} limit 100`)).map(({ id }) => String(id))
    const statements = mysqlOutboxStatements(tables, () => place.isMariadb)
    await place.pool.query(fillLanes(tables)?.statements.join(';') ?? '')
    for (const table of [outbox, outboxLane]) await place.pool.query(`analyze table ${table}`)
    const some = ids.map((id) => ({ ...ROW, id }))
    const [first = { ...ROW, id: '' }] = some
    const refused = [{ row: first, as: 'refused', cause: 'x', retryAfterMs: 5 }] as const
    const scripts = [
      statements.settle(some, refused),
      statements.settle([first], []),
      statements.unpark(ids),
      statements.putBehind(ids.slice(0, 1), ids.slice(1)),
      statements.letGo(ids),
    ]
    const explain = place.isMariadb ? 'explain' : 'explain format = traditional'
    const scans: object[] = []
    for (const statement of (scripts as readonly AnyScript[] as readonly Script[]).flatMap(
      ({ statements: all }) => all,
    )) {
      if (statement.startsWith('select')) continue
      for (const { table, type, rows } of await place.rows(`${explain} ${statement}`)) {
        if (!BY_KEY.includes(type as string | null)) scans.push({ statement, table, type, rows })
      }
    }
    expect(scans).toEqual([])
    // The statement before it has chosen the lane, and locks nothing.
    await place.pool.query('set @consume_once_lane = 1')
    const [lock = '', read = ''] = (
      statements.take({ lanes: [0, 1, 32], most: 500, mostLanes: 64 }) as AnyScript as Script
    ).statements.slice(-2)
    const [outer] = await place.rows(`${explain} ${lock}`)
    expect(outer).toMatchObject({ select_type: 'SIMPLE', table: 'consume_once_outbox_lane', type: 'const' })
    const parts = (await place.rows(`${explain} ${read}`)).filter(({ table }) => table === 'o' || table === 'w')
    expect(parts.map(({ key }) => key)).toEqual(parts.map(() => 'outbox_due'))
    expect(parts.length).toBeGreaterThanOrEqual(4)
  })
})

function newKeys(count: number): readonly string[] {
  return Array.from({ length: count }, () => randomBytes(16).toString('hex'))
}

/** Rows of two scopes, so that the scope alone does not choose the rows. */
async function fill(
  { pool }: MysqlPlace,
  { inbox, attempt, lease, scope, replay }: Tables,
  keys: readonly string[],
): Promise<void> {
  const rows = (columns: string): string =>
    keys.map((key, at) => `(${1 + (at % 20 === 19 ? 1 : 0)}, x'${key}', ${columns})`).join(', ')
  for (const table of [inbox, attempt, lease, scope, replay]) await pool.query(`delete from ${table}`)
  await pool.query(
    `insert into ${inbox} (scope, \`key\`, owner, outcome, done_at) values ${rows("'me', 'd', utc_timestamp(6)")}`,
  )
  await pool.query(
    `insert into ${attempt} (scope, \`key\`, owner, n, last_at) values ${rows("'me', 1, utc_timestamp(6)")}`,
  )
  await pool.query(
    `insert into ${lease} (scope, \`key\`, owner, state, doubt, fence, attempt) values ${rows("'me', 'P', 0, 1, 1")}`,
  )
  await pool.query(
    `insert into ${scope} (id, hash, name) values (1, unhex(sha2('a', 256)), 'a'), (2, unhex(sha2('b', 256)), 'b'), (3, unhex(sha2('c', 256)), 'c')`,
  )
  await pool.query(
    `insert into ${replay} (scope, id, created_at, saved_at, state) values (1, 'a', utc_timestamp(6), utc_timestamp(6), ''), (1, 'b', utc_timestamp(6), utc_timestamp(6), '')`,
  )
  for (const table of [inbox, attempt, lease, scope, replay]) await pool.query(`analyze table ${table}`)
}

/** All statements of the stores that change or lock rows which may be there. */
function changing(tables: Tables, keys: readonly string[]): readonly string[] {
  const owner = 'me'
  const items = keys.map((key) => ({ key, fp: null, attempt: null }))
  const claim = { scope: SCOPE, items, owner, keepMs: 1_000 }
  const history = mysqlHistory(tables, SCOPE, 'lease')
  const taking = { owner, ttlMs: 1_000, state: '' }
  const [first = ''] = keys
  const record = { state: 'given-up', digest: '', fence: 1, owner, reason: 'x', attempt: 1, keepUntil: 0 } as const
  const scripts: readonly AnyScript[] = [
    attempts.countFirst(tables, claim),
    attempts.countNext(tables, claim),
    attempts.holdBack(tables, { scope: SCOPE, keys, owner, delayMs: 5, cause: 'x' }),
    attempts.refundAttempts(tables, { scope: SCOPE, keys, owner }),
    attempts.forgetAttempts(tables, SCOPE, keys),
    attempts.letRun(tables, SCOPE, keys),
    records.glanceAt(tables, SCOPE, first),
    records.claimKeys(tables, claim),
    records.holdKeys(tables, claim),
    records.removeKeys(tables, SCOPE, keys),
    records.removeInserted(tables, SCOPE, keys, owner),
    records.makeDone(tables, SCOPE, keys, 1_000),
    records.markKeys(tables, { scope: SCOPE, keys, results: new Map([[first, '{}']]), keepMs: 1_000 }),
    records.writeRecords(tables, SCOPE, {
      ...claim,
      outcome: 'p',
      reason: 'x',
      result: null,
      cause: null,
      lockTimeoutMs: 5,
    }),
    lockLeases(tables, SCOPE, keys),
    {
      statements: writeLeases(tables, SCOPE, {
        fresh: [],
        kept: keys.flatMap((key) => rowOf(key, record) ?? []),
      }),
    },
    { statements: somethingToFlush(tables, SCOPE) },
    removeOver({ tables, table: 'inbox', isOver: 'done_at < utc_timestamp(6)' }, SCOPE, keys),
    { statements: [notePurge(tables, SCOPE, 1_000)] },
    history.noteUse({ retentionMs: 1_000, forMs: 1_000 }),
    history.takeReplay('a', taking),
    history.saveReplay('a', taking),
    history.leaveReplay('a', owner),
    history.askReplay('a', 'pause'),
  ]
  return (scripts as readonly Script[])
    .flatMap(({ statements }) => statements)
    .filter((text) => !/^(?:set|select(?!.*for update))/s.test(text))
}
