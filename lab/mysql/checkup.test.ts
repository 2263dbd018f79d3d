import { afterEach, expect, it } from '@jest/globals'
import { createPool, type Pool } from 'mysql2/promise'
import { mysqlInbox, mysqlLease } from '../../adapters/mysql2/index.ts'
import type { CheckFinding } from '../../src/index.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { codeOf, describeMariadb } from '../../test/mysql/support.ts'

type Verdicts = Readonly<Record<string, CheckFinding['verdict']>>

describeMariadb('The checkup of stores on a MariaDB', () => {
  const pools: Pool[] = []
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.end()))
  })

  function poolOn(uri: string): Pool {
    const pool = createPool({ uri, connectionLimit: 2 })
    pools.push(pool)
    return pool
  }

  /** MySQL has a binary log unless told otherwise. */
  const SYNCED_BINLOG = { 'sync-binlog': '1' }
  const SAFE = { 'innodb-flush-log-at-trx-commit': '1', ...SYNCED_BINLOG }

  it.each<readonly [string, Readonly<Record<string, string>>, Verdicts, Verdicts]>([
    ['that is safe', SAFE, {}, {}],
    ['that writes and does not sync', SYNCED_BINLOG, { flush: 'broken' }, { flush: 'weaker' }],
    [
      'that does not even write at each commit',
      { 'innodb-flush-log-at-trx-commit': '0', ...SYNCED_BINLOG },
      { flush: 'broken' },
      { flush: 'weaker' },
    ],
    [
      'whose binary log is behind',
      { ...SAFE, 'log-bin': 'log', 'sync-binlog': '0' },
      { binlog: 'weaker' },
      { binlog: 'weaker' },
    ],
    ['whose binary log is not', { ...SAFE, 'log-bin': 'log' }, {}, {}],
  ])('finds one %s', async (_, settings, ofInbox, ofLease) => {
    await using server = await startPrivateMariadb({ settings })
    const pool = poolOn(server.url)
    const findings = [await mysqlInbox({ pool }).checkup?.(), await mysqlLease({ pool }).checkup?.()]
    expect(findings.map(verdictsOf)).toEqual([
      { replication: 'unknown', ...ofInbox },
      { replication: 'unknown', ...ofLease },
    ])
    // It has looked, and changed nothing.
    expect((await pool.query('show tables'))[0]).toEqual([])
  })

  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ['that only reads', { ...SAFE, 'read-only': 'ON' }, 'primary'],
    ['that cuts what is too long', { ...SAFE, 'sql-mode': '' }, 'sql_mode'],
  ])('finds one %s, on which no store opens', async (_, settings, check) => {
    await using server = await startPrivateMariadb({ settings })
    const pool = poolOn(server.url)
    for (const store of [mysqlInbox({ pool }), mysqlLease({ pool })]) {
      expect(verdictsOf(await store.checkup?.())).toMatchObject({ [check]: 'broken' })
      expect(await codeOf(store.open())).toBe('CONFIG_INVALID')
    }
  })

  it('rejects if no server answers', async () => {
    const pool = poolOn('mysql://root@127.0.0.1:1/test')
    expect(await codeOf(Promise.resolve(mysqlInbox({ pool }).checkup?.()))).toMatch(/^STORE_/)
  })
})

/** Checks that do not hold, each with its meaning. */
function verdictsOf(findings: readonly CheckFinding[] | undefined): Verdicts {
  for (const { verdict, meaning } of findings ?? []) expect(meaning === '').toBe(verdict === 'holds')
  const left = (findings ?? []).filter(({ verdict }) => verdict !== 'holds')
  return Object.fromEntries(left.map(({ check, verdict }) => [check.replace('mysql.', ''), verdict]))
}
