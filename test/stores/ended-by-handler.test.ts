import { afterEach, expect, it } from '@jest/globals'
import type { Pool as MysqlPool, RowDataPacket } from 'mysql2/promise'
import type { Pool } from 'pg'
import type { InboxStore, TransactionClaim } from '../../src/internal.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { describeMariadb, lend as lendMysql, newMysqlPlace } from '../mysql/support.ts'
import { describePostgres, lend, newPlace, NO_REFUND } from '../pg/support.ts'

let close: () => Promise<unknown>
afterEach(() => close())

describePostgres('a connection whose transaction a handler of postgresInbox has ended', () => {
  it.each(['released', 'set aside', 'marked'])('is not used again: %s', async (how) => {
    const place = await newPlace()
    const role = `${place.schema}_role`
    await place.pool.query(`create role ${role}`)
    close = async () => {
      await place.pool.query(`drop role ${role}`)
      await place.close()
    }
    const pool = place.newPool({ max: 2 })
    const inbox = await place.newInbox({ pool })
    const before = await users(pool)
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    await tx.query(`set role ${role}`)
    await tx.query('/**/ commit').catch(() => {})
    await end(how, inbox, claimed)
    expect(await users(pool)).toEqual(before)
  })
})

describeMariadb('a connection whose transaction a handler of mysqlInbox has ended', () => {
  it.each([
    ['released', '/**/ commit'],
    ['set aside', '/**/ commit'],
    ['marked', '/**/ commit'],
    ['released', '/**/ create table effect (name int)'],
  ])('is not used again: %s after %s', async (how, text) => {
    const place = await newMysqlPlace()
    close = place.close
    const pool = place.newPool({ connectionLimit: 2 })
    const inbox = await place.newInbox({ pool })
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lendMysql(claimed)
    await tx.query('set @of_handler = 1')
    await tx.query(text).catch(() => {})
    await end(how, inbox, claimed)
    expect(await settings(pool, 2)).toEqual(new Set([null]))
  })
})

/** Everybody who uses a connection of the pool, all of them at once. */
async function users(pool: Pool): Promise<Set<string>> {
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
  const rows = await Promise.all(clients.map((client) => client.query<{ u: string }>('select current_user as u')))
  for (const client of clients) client.release()
  return new Set(rows.map((result) => result.rows[0]?.u ?? ''))
}

/** What handlers have set on the connections of a pool, all of them at once. */
async function settings(pool: MysqlPool, size: number): Promise<Set<unknown>> {
  const connections = await Promise.all(Array.from({ length: size }, () => pool.getConnection()))
  const seen = new Set<unknown>()
  for (const connection of connections) {
    const [rows] = await connection.query<RowDataPacket[]>('select @of_handler as v')
    seen.add(rows[0]?.['v'])
    connection.release()
  }
  return seen
}

/** Ends a claim whose handler has ended the transaction. */
async function end<Tx>(how: string, inbox: InboxStore<Tx>, claimed: TransactionClaim<Tx>): Promise<void> {
  if (how === 'released') await inbox.release([claimed], { ...NO_REFUND, cause: 'failed' })
  else if (how === 'set aside') await inbox.setAside([claimed], 'parked', { reason: 'failed' })
  else await inbox.mark([claimed]).catch(() => {})
}
