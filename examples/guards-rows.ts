// Guards without a consumer, on rows of Postgres: a webhook that comes twice, two editors of one row, two takers of one seat.
import assert from 'node:assert/strict'
import { insertOnce, lockRow, updateVersioned } from 'consume-once/guards'
import { Pool, type PoolClient } from 'pg'
import { databaseUrl, ownName } from './support/servers.ts'

const schema = ownName('guards')
const url = new URL(databaseUrl())
url.searchParams.set('options', `-c search_path=${schema}`)
const pool = new Pool({ connectionString: url.href })
await pool.query(`create schema ${schema};
  create table payment (id text primary key, cents int not null);
  create table price (id text primary key, cents int not null, version int not null);
  create table seat (id text primary key, taken_by text);
  insert into price values ('tea', 200, 1);
  insert into seat values ('12A', null)`)

async function inTransaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const result = await work(tx)
    await tx.query('commit')
    return result
  } catch (error) {
    await tx.query('rollback')
    throw error
  } finally {
    tx.release()
  }
}

// A webhook: the row of the payment is what makes a repeat a repeat.
const sent: string[] = []
const onWebhook = async (id: string, cents: number) => {
  // #region insert
  await inTransaction(async (tx) => {
    const { verdict } = await insertOnce(tx, { table: 'payment', row: { id, cents }, conflict: 'id' })
    if (verdict === 'already') return
    await tx.query('notify receipts') // whatever else belongs to a new payment
    sent.push(id)
  })
  // #endregion
}
await Promise.all([onWebhook('p-1', 100), onWebhook('p-1', 100)])
assert.deepEqual(sent, ['p-1'])

// Two editors have read version 1. The second is told, instead of overwriting the first.
const edit = (cents: number) =>
  updateVersioned(pool, {
    table: 'price',
    key: { id: 'tea' },
    version: { column: 'version', expected: 1 },
    set: { cents },
  })
const verdicts = [await edit(220), await edit(250)]
assert.deepEqual(verdicts, [
  { verdict: 'applied', version: 2 },
  { verdict: 'stale', version: 2 },
])

// Two takers of one seat: the second waits until the first has committed, and then sees the seat taken.
const take = (person: string) =>
  inTransaction(async (tx) => {
    const seat = await lockRow<{ taken_by: string | null }>(tx, { table: 'seat', key: { id: '12A' } })
    if (seat.verdict !== 'locked') throw new Error(seat.verdict)
    if (seat.row.taken_by !== null) return 'taken'
    await tx.query("update seat set taken_by = $1 where id = '12A'", [person])
    return 'yours'
  })
const answers = await Promise.all([take('ann'), take('ben')])
assert.deepEqual(answers.toSorted(), ['taken', 'yours'])
console.log('1 payment of 2 webhooks, 1 price of 2 editors, 1 seat for 2 people')

await pool.query(`drop schema ${schema} cascade`)
await pool.end()
