import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mysqlInbox, mysqlLease } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import { claimAll, newItem } from '../../testing/contract/store/claims.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from '../../test/mysql/support.ts'

describeMariadb('The tables of stores on MariaDB', () => {
  let place: MysqlPlace
  beforeEach(async () => {
    place = await newMysqlPlace()
    await place.newInbox()
  })
  afterEach(() => place.close())

  it.each([
    ['inbox', 'alter table consume_once_inbox drop primary key', 'inbox: .* \\(key, scope\\)'],
    ['attempt', 'alter table consume_once_attempt drop primary key', 'attempt: .* \\(key, scope\\)'],
    ['lease', 'alter table consume_once_lease drop primary key', 'lease: .* \\(key, scope\\)'],
    ['scope', 'alter table consume_once_scope drop index hash', 'scope: .* \\(hash\\)'],
    [
      'inbox, with one that is not unique',
      'alter table consume_once_inbox drop primary key, add index (scope, `key`)',
      'inbox: .* \\(key, scope\\)',
    ],
    [
      'inbox, with one of a part of the key',
      'alter table consume_once_inbox drop primary key, add unique index (scope, `key`(8))',
      'inbox: .* \\(key, scope\\)',
    ],
    ['lease, the table itself', 'drop table consume_once_lease', 'lease: .* no table'],
  ])('are refused by every store without the unique index of %s', async (_, sql, told) => {
    await place.pool.query(sql)
    const pool = place.newPool()
    for (const setup of ['auto', 'check'] as const) {
      for (const store of [mysqlInbox({ pool, setup }), mysqlLease({ pool, setup })]) {
        await expect(store.open()).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringMatching(told),
        })
        if (told.endsWith('no table')) continue
        expect(await store.checkup?.()).toContainEqual(
          expect.objectContaining({ check: 'mysql.keys', verdict: 'broken', found: expect.stringMatching(told) }),
        )
      }
    }
  })

  it('say what to do where one was removed, and the checkup names it', async () => {
    const store = mysqlInbox({ pool: place.newPool(), setup: 'check' })
    const schema = async (): Promise<unknown> =>
      (await store.checkup?.())
        ?.filter(({ check }) => check === 'mysql.schema')
        .map(({ found, verdict }) => [found, verdict])
    expect(await schema()).toEqual([])
    await place.pool.query('alter table consume_once_audit drop index audit_key')
    expect(await schema()).toEqual([['index audit_key is missing', 'weaker']])
    await place.pool.query('drop table consume_once_audit')
    expect(await schema()).toEqual([['table consume_once_audit is missing, and its migrations ran', 'weaker']])
    await store.open()
    await place.pool.query('drop table consume_once_inbox')
    expect(await schema()).toEqual([
      ['table consume_once_audit is missing, and its migrations ran', 'weaker'],
      ['table consume_once_inbox is missing, and its migrations ran', 'broken'],
    ])
    for (const setup of ['auto', 'check'] as const) {
      await expect(mysqlInbox({ pool: place.newPool(), setup }).open()).rejects.toMatchObject({
        message: expect.stringMatching(/consume_once_inbox: expected a table.*restore it with its rows/),
      })
    }
    await place.pool.query('drop table consume_once_migration')
    expect(await schema()).toEqual([])
  })

  /** In seconds on MariaDB, in milliseconds on MySQL. */
  const limit = (): string => (place.isMariadb ? 'max_statement_time' : 'max_execution_time')

  const timeouts = async (ms: number): Promise<unknown> => {
    const pool = place.newPool()
    const value = place.isMariadb ? ms / 1_000 : ms
    pool.on('connection', (connection) => void connection.query(`set session ${limit()} = ${value}`))
    return (await mysqlInbox({ pool }).checkup?.())?.filter(({ check }) => check === 'mysql.timeouts')
  }

  it('are named by the checkup where statements may take milliseconds only', async () => {
    expect(await timeouts(500)).toMatchObject([{ verdict: 'broken', found: `${limit()} 500 ms` }])
    expect(await timeouts(30_000)).toMatchObject([{ verdict: 'holds' }])
  })

  it.each([
    ['inbox', 'MyISAM'],
    ['attempt', 'Aria'],
    ['lease', 'MyISAM'],
    ['scope', 'Aria'],
    ['audit', 'MyISAM'],
  ])('are refused by every store where %s is on %s, which has no transactions', async (name, onMariadb) => {
    const engine = place.isMariadb ? onMariadb : 'MyISAM'
    const told = `consume_once_${name}: expected engine InnoDB, got ${engine}`
    await place.pool.query(`alter table consume_once_${name} engine = ${engine}`)
    const pool = place.newPool()
    for (const store of [mysqlInbox({ pool, setup: 'check' }), mysqlLease({ pool })]) {
      await expect(store.open()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(told),
      })
      expect(await store.checkup?.()).toContainEqual(
        expect.objectContaining({ check: 'mysql.engine', verdict: 'broken', found: told }),
      )
    }
  })

  it('are taken, and locked by key, with a unique index in place of the primary key', async () => {
    for (const name of ['inbox', 'attempt', 'lease']) {
      const index = 'add unique index `of ``keys` (`key`, scope)'
      await place.pool.query(`alter table consume_once_${name} drop primary key, ${index}`)
    }
    const pool = place.newPool()
    const [inbox, lease] = [mysqlInbox({ pool, setup: 'check' }), mysqlLease({ pool, setup: 'check' })]
    for (const store of [inbox, lease]) {
      await store.open()
      const [claimed] = await claimAll(store as unknown as Store, [newItem()])
      expect(claimed).toMatchObject({ verdict: 'claimed' })
      const { claim } = claimed as unknown as { readonly claim: never }
      expect(await store.mark([claim])).toEqual(['marked'])
      const broken = (await store.checkup?.())?.filter(({ verdict }) => verdict === 'broken').map(({ check }) => check)
      // A server of tests may not flush.
      expect(broken?.filter((check) => check !== 'mysql.flush')).toEqual([])
    }
  })
})
