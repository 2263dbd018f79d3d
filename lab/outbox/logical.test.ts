import { expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { postgresOutbox } from '../../adapters/pg/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivatePostgres, type PrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { describePostgres } from '../../test/pg/support.ts'

describePostgres('the outbox as logical decoding reads it', () => {
  let postgres: PrivatePostgres

  beforeAllOpen(async (own) => {
    if (backends.has('postgres')) postgres = own(await startPrivatePostgres({ settings: { wal_level: 'logical' } }))
  })

  it('has in one INSERT for each message the columns that the recipe for Debezium names', async () => {
    const pool = new Pool({ connectionString: postgres.url, max: 2 })
    const outbox = postgresOutbox({ pool, relay: false })
    await outbox.open()
    await pool.query(`select pg_create_logical_replication_slot('debezium', 'test_decoding')`)
    const client = await pool.connect()
    for (const end of ['rollback', 'commit']) {
      await client.query('begin')
      await outbox.publish(client, { topic: 'charged', key: 'account-9', messageId: `id-${end}`, value: 'paid' })
      await client.query(end)
    }
    client.release()
    const { rows } = await pool.query<{ data: string }>(
      `select data from pg_logical_slot_get_changes('debezium', null, null) where data like 'table consume_once.outbox:%'`,
    )
    await pool.end()
    expect(rows).toHaveLength(1)
    const [insert] = rows
    expect(insert?.data).toContain('outbox: INSERT:')
    expect(insert?.data).toContain(`message_id[text]:'id-commit'`)
    expect(insert?.data).toContain(`place[text]:'charged'`)
    expect(insert?.data).toContain(`key[bytea]:'\\x${Buffer.from('account-9').toString('hex')}'`)
    expect(insert?.data).toContain(`value[bytea]:'\\x${Buffer.from('paid').toString('hex')}'`)
  })
})
