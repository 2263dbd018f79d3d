import type { Connection, Pool as MysqlPool } from 'mysql2/promise'
import type { Connection as CallbackConnection } from 'mysql2'
import type { Client, Pool, PoolClient } from 'pg'
import { advanceState, insertOnce, lockRow, updateVersioned, type GuardClient } from 'consume-once/guards'
import type { MysqlTransaction } from 'consume-once/mysql2'
import type { PgTransaction } from 'consume-once/pg'

declare const clients: readonly [Client, Pool, PoolClient, PgTransaction, Connection, MysqlPool, MysqlTransaction]
declare const withCallbacks: CallbackConnection
export const accepted: readonly GuardClient[] = clients
// @ts-expect-error a client with callbacks
export const refused: GuardClient = withCallbacks

const [client] = clients
const key = { id: 7 }

export async function verdicts(): Promise<unknown> {
  const inserted = await insertOnce<{ cents: number }>(client, { table: 'a', row: key, conflict: 'id' })
  const advanced = await advanceState(client, { table: 'a', key, column: 'status', to: 'paid', from: ['created'] })
  const updated = await updateVersioned(client, { table: 'a', key, version: { column: 'v', expected: 1n }, set: key })
  const locked = await lockRow(client, { table: 'a', key })
  // @ts-expect-error states of two types
  await advanceState(client, { table: 'a', key, column: 'status', to: 'paid', from: [1] })
  return [
    inserted.verdict === 'already' && inserted.row.cents.toFixed(),
    'state' in advanced && advanced.state.toUpperCase(),
    advanced.verdict === 'unset' && advanced.problem.length,
    // @ts-expect-error a row may have no state
    advanced.verdict !== 'missing' && advanced.state.toUpperCase(),
    updated.verdict === 'stale' && updated.version + 1n,
    // @ts-expect-error only a locked row is there
    locked.row,
  ]
}
