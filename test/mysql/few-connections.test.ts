import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createPool, type Pool } from 'mysql2/promise'
import { isConsumeOnceError } from '../../src/index.ts'
import type { InboxStore } from '../../src/internal.ts'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { server } from '../kit/servers/server.ts'
import { ALONE, describeMariadb, lend, newMysqlPlace, NO_REFUND, type MysqlPlace } from './support.ts'

describeMariadb('mysqlInbox on a server that allows as many connections as there are transactions', () => {
  let place: MysqlPlace
  let pools: Pool[]
  beforeEach(async () => {
    place = await newMysqlPlace()
    const { database: user } = place
    await place.pool.query(`create user ${user} identified by 'few' with max_user_connections 4`)
    await place.pool.query(`grant all on ${user}.* to ${user}`)
    const uri = Object.assign(new URL((await server('mariadb')).url), {
      username: user,
      password: 'few',
      pathname: user,
    })
    pools = [0, 1].map(() => createPool({ uri: uri.href, connectionLimit: 3 }))
  })
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await place.pool.query(`drop user ${place.database}`)
    await place.close()
  })

  it('handles, fails and handles again without a second connection for a transaction', async () => {
    const inboxes = await Promise.all(pools.map((pool) => place.newInbox({ pool })))
    const begun = new Map<string, number>()
    const handle = async (inbox: InboxStore<MysqlTransaction>, name: string): Promise<void> => {
      const item = newItem()
      for (let alone = {}; ; alone = ALONE) {
        const granted = await holdInTime(inbox, item, alone)
        const { tx } = lend(granted.claim)
        await tx.query('insert into effect (name) values (?)', [name])
        await sleep(50)
        begun.set(name, granted.attempt)
        if (granted.attempt === 2) return void (await inbox.mark([granted.claim]))
        await inbox.release([granted.claim], { ...NO_REFUND, delayMs: 1, cause: 'once' })
        await sleep(5)
      }
    }
    const lanes = [...inboxes, ...inboxes].map(async (inbox, lane) => {
      for (const n of [0, 1, 2]) await handle(inbox, `${lane}-${n}`)
    })
    await Promise.all(lanes)
    expect([...begun.values()]).toEqual(Array.from({ length: 12 }, () => 2))
    expect((await place.rows('select name from effect')).length).toBe(12)
  })
})

/** Claims again while the server has no connection for the claim. */
async function holdInTime(
  inbox: InboxStore<MysqlTransaction>,
  item: ReturnType<typeof newItem>,
  alone: object,
): ReturnType<typeof hold<MysqlTransaction>> {
  for (const end = Date.now() + 8_000; ; await sleep(20)) {
    try {
      return await hold(inbox, item, alone)
    } catch (error) {
      if (!(isConsumeOnceError(error) && error.code === 'STORE_UNREACHABLE') || Date.now() > end) throw error
    }
  }
}
