import { expect, it, jest } from '@jest/globals'
import { openedForEach } from '../kit/opened.ts'
import { server } from '../kit/servers/server.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from '../mysql/support.ts'
import { AS_PROCESS, Cli, dataOf, WITHIN_MS, type CliRun, type RunOptions } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

describeMariadb('consume-once migrate, on MariaDB', () => {
  let place: MysqlPlace
  openedForEach(newMysqlPlace, (made) => (place = made))

  async function run(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    how: RunOptions = {},
  ): Promise<CliRun> {
    using cli = new Cli()
    const { url } = await server('mariadb')
    const told = { TEST_DATABASE_URL: url, TEST_DATABASE: place.database }
    return cli.run(args, { ...how, env: { CONSUME_ONCE_CONFIG: 'test/cli/mysql.config.ts', ...told, ...env } })
  }

  const tables = async (): Promise<number> => (await place.rows("show tables like 'consume_once_%'")).length

  it('tells what is to be run, runs it, and then has nothing to do', async () => {
    const before = await run(['migrate', 'status'], {}, AS_PROCESS)
    expect(before.exitCode).toBe(1)
    expect(before.stdout).toMatch(
      /^MariaDB or MySQL, database mysql_\w+:\n {2}pending {2}1 initial\n {2}pending {2}2 outbox\n/,
    )
    // Without an action it changes nothing.
    expect(await run(['migrate'])).toEqual(before)
    expect(await tables()).toBe(0)
    const dry = await run(['migrate', 'up', '--dry-run', '--json'])
    expect(dataOf(dry)).toMatchObject({ dry_run: true, databases: [{ run: ['1 initial', '2 outbox'] }] })
    expect(await tables()).toBe(0)
    expect(await run(['inspect', 'in-inbox', 'a'])).toMatchObject({ exitCode: 2 })
    expect(await run(['migrate', 'up'], {}, AS_PROCESS)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(': applied: 1 initial, 2 outbox'),
    })
    expect(await tables()).toBeGreaterThan(5)
    expect(await run(['migrate', 'up'])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('up to date') })
    const after = await run(['migrate', 'status', '--json'])
    expect(after.exitCode).toBe(0)
    expect(dataOf(after)).toMatchObject({ databases: [{ pending: [], drift: [] }] })
    expect(await run(['inspect', 'in-inbox', 'a'])).toMatchObject({ exitCode: 0 })
  })

  it('prints what a DBA runs, which comes to the same', async () => {
    const { stdout } = await run(['migrate', 'print'])
    await place.newPool({ multipleStatements: true }).query(stdout)
    expect(await run(['migrate', 'status'])).toMatchObject({ exitCode: 0 })
  })

  it('tells drift, and exits with 1', async () => {
    await run(['migrate', 'up'])
    await place.pool.query('alter table consume_once_inbox drop primary key')
    await place.pool.query('alter table consume_once_audit engine = MyISAM')
    await place.pool.query("insert into consume_once_migration values (900, 'later', 1, now())")
    const later = await run(['migrate', 'status'])
    expect(later.stdout).toMatch(/drift +migration 900 later: not known .*update/)
    expect(later.exitCode).toBe(1)
    await place.pool.query('delete from consume_once_migration where version = 900')
    const { exitCode, stdout } = await run(['migrate', 'status'])
    expect(stdout).toMatch(/drift +consume_once_inbox: expected a valid primary key or unique index/)
    expect(stdout).toMatch(/drift +consume_once_audit: expected engine InnoDB, got MyISAM/)
    expect(exitCode).toBe(1)
  })

  it('takes the user of CONSUME_ONCE_ADMIN_DATABASE_URL, and says so where the database is missing', async () => {
    const { url } = await server('mariadb')
    const admin = new URL(url)
    admin.pathname = place.database
    const up = await run(['migrate', 'up'], {
      CONSUME_ONCE_ADMIN_DATABASE_URL: admin.href,
      TEST_DATABASE_URL: 'mysql://nobody@127.0.0.1:1',
    })
    expect(up).toMatchObject({ exitCode: 0 })
    const missing = await run(['migrate', 'up'], { TEST_DATABASE: 'consume_once_nowhere' })
    expect(missing.stderr).toContain('Create the database first')
    expect(missing.exitCode).toBe(2)
  })
})
