import { describe, expect, it, jest } from '@jest/globals'
import { Cli, dataOf, WITHIN_MS } from '../kit/cli-process.ts'
import { beforeEachOpen } from '../kit/opened.ts'

jest.setTimeout(WITHIN_MS)

let cli: Cli
beforeEachOpen((own) => (cli = own(new Cli())))

describe('consume-once size', () => {
  it.each([
    [[], /required option '--rate <n>'/],
    [['--rate', '0'], /Expected messages a second, more than 0/],
    [['--rate', '1,000'], /Expected messages a second/],
    [['--rate', '9', '--duplicates', '20'], /Expected a percentage .* such as 20%/],
    [['--rate', '9', '--duplicates', '100%'], /less than 100%/],
    [['--rate', '9', '--retention', '7'], /with its unit/],
    [['--rate', '9', '--retention', '5ms'], /at least a second/],
    [['--rate', '9', '--payload', '12'], /a size with its unit/],
    [['--rate', '9', '--payload', '0KB'], /more than 0/],
    [['--rate', '9', '--handler', '20 days'], /a time with its unit/],
    [['--rate', '9', '--store', 'mongo'], /Allowed choices are redisLease, postgresLease, postgresInbox, mysqlInbox/],
    [['--rate', '9', '--broker', 'memory'], /Allowed choices are kafka, rabbitmq/],
    [['--rate', '9', '--batch'], /--batch: expected a store that is an inbox, such as postgresInbox, got redisLease/],
    [['--rate', '9', 'orders'], /too many arguments/],
  ])('%j: exit 2, and says why', async (args, why) => {
    const run = await cli.run(['size', ...args])
    expect(run.stderr).toMatch(why)
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
  })

  it('exits with 1 where one server does not serve the load, and gives a script all figures', async () => {
    const args = ['size', '--rate', '2000', '--store', 'postgresInbox', '--retention', '1d', '--json']
    const small = await cli.run(args)
    expect(small).toMatchObject({ exitCode: 0, stderr: '' })
    expect(dataOf(small)).toMatchObject({
      schema_version: 1,
      command: 'size',
      load: { rate: 2_000, retentionMs: 86_400_000 },
      serves: true,
    })
    const large = await cli.run([...args, '--database-disk', '1GB'])
    expect(large.exitCode).toBe(1)
    expect(dataOf(large)).toMatchObject({ serves: false, limit: { how: expect.stringContaining('disk: 1.0 GB') } })
  })

  it('explains itself', async () => {
    const { exitCode, stdout } = await cli.run(['size', '--help'])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/Examples:[\s\S]*Exit code 0/)
  })
})
