import { createPool, type Pool, type PoolConnection } from 'mysql2/promise'
import { createPool as createCallbackPool } from 'mysql2'
import { mysqlInbox, type MysqlConnectionLike, type MysqlPoolLike, type MysqlTransaction } from 'consume-once/mysql2'
import { defineConsumer, type Store } from 'consume-once'

declare const pool: Pool
declare const connection: PoolConnection

// Pools and connections of mysql2/promise fit.
export const like: MysqlPoolLike = pool
export const connectionLike: MysqlConnectionLike = connection
export const inbox: Store<MysqlTransaction> = mysqlInbox({ pool: createPool('mysql://127.0.0.1/test') })

// @ts-expect-error -- those with callbacks do not
mysqlInbox({ pool: createCallbackPool('mysql://127.0.0.1/test') })

// Handlers get the transaction.
defineConsumer({
  name: 'types',
  id: () => 'id',
  store: inbox,
  handle: async ({ tx }) => {
    const [rows] = await tx.query<{ n: number }[]>('select 1 as n')
    rows[0]?.n.toFixed()
    await tx.execute('insert into t values (?)', [1])
    // @ts-expect-error -- the transaction is the store's to end
    await tx.commit()
  },
})
