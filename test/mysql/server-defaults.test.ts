// Whether doctor calls a setting of MariaDB the server's default, against what the server itself says its default is.
import { expect, it } from '@jest/globals'
import { judgeBinlog, judgeFlush, judgeStatementTime } from '../../adapters/mysql2/checkup.ts'
import type { CheckFinding } from '../../src/index.ts'
import { beforeAllOpen } from '../kit/opened.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from './support.ts'

const VALUES = [0, 1, 2, 1_000]

/** Whether the doctor calls each flawed value of a setting the default of the server. */
const said = (judge: (value: number) => CheckFinding): readonly (readonly [number, boolean])[] =>
  VALUES.map((value) => [value, judge(value)] as const)
    .filter(([, { verdict }]) => verdict === 'weaker' || verdict === 'broken')
    .map(([value, { isServerDefault }]) => [value, isServerDefault === true])

describeMariadb('what doctor says of a setting of MariaDB', () => {
  let place: MysqlPlace
  const defaults = new Map<string, string>()
  beforeAllOpen(async (own) => {
    place = await newMysqlPlace()
    own(() => place.close())
    if (!place.isMariadb) return
    const rows = await place.rows(
      'select lower(variable_name) as name, default_value from information_schema.system_variables',
    )
    for (const { name, default_value: value } of rows) defaults.set(String(name), String(value))
  })

  const isDefault = (
    name: string,
    of: readonly (readonly [number, boolean])[],
  ): readonly (readonly [number, boolean])[] => of.map(([value]) => [value, Number(defaults.get(name)) === value])

  it('is its default where the server says so', () => {
    if (!place.isMariadb) return
    const server = { kind: 'mariadb', statementMs: 0 } as const
    const binlog = said((sync) => judgeBinlog({ has_binlog: 1, sync_binlog: sync }, 'lease', server))
    expect(binlog.length).toBeGreaterThan(0)
    expect(binlog).toEqual(isDefault('sync_binlog', binlog))
    const flush = said((value) => judgeFlush({ flush_log: value }, 'lease'))
    expect(flush.length).toBeGreaterThan(0)
    expect(flush).toEqual(isDefault('innodb_flush_log_at_trx_commit', flush))
    // The server says it in seconds.
    const short = said((value) => judgeStatementTime({ ...server, statementMs: value }))
    expect(Number(defaults.get('max_statement_time'))).toBe(0)
    expect(short.every(([, isSo]) => !isSo)).toBe(true)
    expect(defaults.get('read_only')).toMatch(/^(?:OFF|0)$/)
    expect(defaults.get('sql_mode')).toContain('STRICT_TRANS_TABLES')
  })
})
