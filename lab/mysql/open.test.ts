import { expect, it } from '@jest/globals'
import { beforeAllOpen, beforeEachOpen } from '../../test/kit/opened.ts'
import { mysqlInbox, mysqlLease, type MysqlOptions } from '../../adapters/mysql2/index.ts'
import { describeError, type CheckFinding } from '../../src/internal.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { describeMariadb, lend, newMysqlPlace, type MysqlPlace } from '../../test/mysql/support.ts'

const STORES = { mysqlInbox, mysqlLease }

/** A binary log of statements takes no writes at READ COMMITTED. Everything else here is set for a test, and back. */
const SETTINGS = {
  'log-bin': 'binlog',
  'server-id': '1',
  'binlog-format': 'STATEMENT',
  'innodb-flush-log-at-trx-commit': '1',
  'sync-binlog': '1',
}

async function told(
  name: keyof typeof STORES,
  options: MysqlOptions,
): Promise<{ refused: string; claim: CheckFinding | undefined }> {
  const store = STORES[name](options)
  const refused = await store.open().then(() => '', describeError)
  const findings = (await store.checkup?.()) ?? []
  return { refused, claim: findings.find(({ check }) => check === 'mysql.claim') }
}

describeMariadb('open() and the checkup try a claim, and roll it back', () => {
  let mariadb: Awaited<ReturnType<typeof startPrivateMariadb>>
  let place: MysqlPlace
  beforeAllOpen(async (own) => (mariadb = own(await startPrivateMariadb({ settings: SETTINGS }))))
  beforeEachOpen(async (own) => (place = own(await newMysqlPlace(mariadb.url))))

  for (const name of ['mysqlInbox', 'mysqlLease'] as const) {
    it(`${name}: named is a binary log of statements`, async () => {
      await place.rows('set global binlog_format = STATEMENT')
      const { refused, claim } = await told(name, { pool: place.newPool() })
      expect(refused).toMatch(/binlog_format = STATEMENT.*set binlog_format = ROW/)
      expect(claim).toMatchObject({ verdict: 'broken', meaning: expect.stringMatching(/set binlog_format = ROW/) })
    })

    it(`${name}: named are the rights of a user`, async () => {
      await place.rows('set global binlog_format = ROW')
      const open = await told(name, { pool: place.newPool() })
      expect(open).toEqual({ refused: '', claim: expect.objectContaining({ verdict: 'holds' }) })
      const user = uniqueName('reader')
      await place.rows(`create user ${user}@'%' identified by 'x'`)
      await place.rows(`grant select on ${place.database}.* to ${user}@'%'`)
      const uri = new URL(mariadb.url)
      uri.username = user
      uri.password = 'x'
      const { refused, claim } = await told(name, { pool: place.newPool({ uri: uri.href }), setup: 'check' })
      expect(refused).toMatch(new RegExp(`grant select, insert, update, delete on .${place.database}.`))
      expect(claim).toMatchObject({ verdict: 'broken', meaning: expect.stringMatching(/grant select, insert/) })
      // These are enough.
      await place.rows(`grant insert, update, delete on ${place.database}.* to ${user}@'%'`)
      const granted = await told(name, { pool: place.newPool({ uri: uri.href }), setup: 'check' })
      expect(granted).toEqual({ refused: '', claim: expect.objectContaining({ verdict: 'holds' }) })
    })
  }

  it('leaves nothing behind', async () => {
    await place.rows('set global binlog_format = ROW')
    for (const name of ['mysqlInbox', 'mysqlLease'] as const) await told(name, { pool: place.newPool() })
    for (const table of ['inbox', 'attempt', 'lease']) {
      expect(await place.rows(`select * from consume_once_${table}`)).toEqual([])
    }
  })

  it.each(['CHAIN', 'RELEASE'])('handles messages with completion_type = %s', async (type) => {
    await place.rows('set global binlog_format = ROW')
    await place.rows(`set global completion_type = '${type}'`)
    try {
      const pool = place.newPool({ connectionLimit: 2 })
      const inbox = await place.newInbox({ pool })
      for (const effect of ['one', 'two', 'three']) {
        const { claim } = await hold(inbox, newItem())
        await place.write(lend(claim).tx, effect)
        expect(await inbox.mark([claim])).toEqual(['marked'])
        expect(await place.committed(effect)).toBe(1)
      }
    } finally {
      await place.rows('set global completion_type = 0')
    }
  })
})
