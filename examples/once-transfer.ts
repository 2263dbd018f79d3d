// A transfer between two accounts in Postgres, requested twice: both updates and the key commit together, once.
import assert from 'node:assert/strict'
import { once } from 'consume-once'
import { postgresInbox } from 'consume-once/pg'
import { Pool } from 'pg'
import { databaseUrl, ownName } from './support/servers.ts'

const schema = ownName('transfer')
const url = new URL(databaseUrl())
url.searchParams.set('options', `-c search_path=${schema}`)
process.env['DATABASE_URL'] = url.href
const setUp = new Pool({ connectionString: url.href })
await setUp.query(`create schema ${schema}; create table account (id text primary key, balance int not null)`)
await setUp.query("insert into account values ('ann', 100), ('ben', 0)")
const [id, from, to, amount] = ['t-1', 'ann', 'ben', 30]

// #region store
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 }) // 2 or more
const store = postgresInbox({ pool, schema }) // open() makes its tables; without `schema`, in `consume_once`
// #endregion

// #region readme
const transfer = () =>
  once(store, `transfer-${id}`, async ({ tx }) => {
    await tx.query('update account set balance = balance + $1 where id = $2', [amount, to])
    const debit = 'update account set balance = balance - $1 where id = $2 returning balance'
    const { rows } = await tx.query(debit, [amount, from])
    return rows[0] // each caller gets it, also the one whose call ran nothing
  })
// #endregion
const results = [...(await Promise.all([transfer(), transfer()])), await transfer()]
assert.deepEqual(
  results.map(({ result }) => result),
  [{ balance: 70 }, { balance: 70 }, { balance: 70 }],
)

const { rows } = await setUp.query('select * from account order by id')
console.log(rows) // [ { id: 'ann', balance: 70 }, { id: 'ben', balance: 30 } ]
assert.deepEqual(rows, [
  { id: 'ann', balance: 70 },
  { id: 'ben', balance: 30 },
])
await setUp.query(`drop schema ${schema} cascade`)
await Promise.all([setUp.end(), pool.end()])
