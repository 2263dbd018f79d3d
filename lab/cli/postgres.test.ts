import { describe, expect, it, jest } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import { postgresInbox, postgresLease, postgresOffsets } from '../../adapters/pg/index.ts'
import { defineConsumer, messageId, TerminalError, type Store } from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { describePostgres, newPlace, type PgPlace } from '../../test/pg/support.ts'
import { holdAt } from '../../test/kit/held-position.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Cli, dataOf, WITHIN_MS, type CliRun } from '../../test/kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

/** Handles, or gives up, as a process before did. */
async function handle(name: string, store: Store<unknown>, ids: readonly string[]): Promise<string[]> {
  const handled: string[] = []
  const consumer = defineConsumer({
    name,
    store,
    id: messageId.header('id'),
    handle: ({ message }) => {
      if (message.headers['fails'] === 'yes') throw new TerminalError('no such number')
      handled.push(String(message.headers['id']))
    },
  })
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, { topic: 'sms', group: 'workers' })
  for (const [id = '', fails = 'no'] of ids.map((one) => one.split(' '))) {
    broker.publish('sms', { value: Buffer.from('{}'), headers: { id, fails } })
  }
  await broker.drained('sms', 'workers')
  await running.stop()
  // An inbox may start a handler twice: what it wrote was rolled back.
  return [...new Set(handled)]
}

describePostgres('consume-once, on Postgres', () => {
  let cli: Cli
  let place: PgPlace
  let schema: string
  let url: string
  beforeEachOpen(async (own) => {
    cli = own(new Cli())
    place = own(await newPlace())
    schema = uniqueName('cli')
    own(() => place.pool.query(`drop schema if exists ${schema} cascade`))
    url = (await server('postgres')).url
  })

  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CliRun> =>
    cli.run(args, {
      env: { CONSUME_ONCE_CONFIG: 'test/cli/postgres.config.ts', TEST_DATABASE_URL: url, TEST_SCHEMA: schema, ...env },
    })

  const runIn = async (): Promise<unknown[]> =>
    (await place.pool.query(`select version, name from ${schema}.migration order by version`)).rows

  describe('migrate', () => {
    it('lists the pending migrations, tries them, runs them, and then has nothing to do', async () => {
      const before = await run(['migrate', 'status'])
      expect(before.exitCode).toBe(1)
      expect(before.stdout).toMatch(/^Postgres, schema cli_\w+:\n {2}pending {2}1 initial\n {2}pending {2}2 outbox\n/)
      const tried = await run(['migrate', 'up', '--dry-run', '--json'])
      expect(dataOf(tried)).toMatchObject({ dry_run: true, databases: [{ run: ['1 initial', '2 outbox'] }] })
      await expect(runIn()).rejects.toThrow('does not exist')
      const up = await run(['migrate', 'up'])
      expect(up).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(': applied: 1 initial, 2 outbox') })
      expect(await runIn()).toEqual([
        { version: 1, name: 'initial' },
        { version: 2, name: 'outbox' },
      ])
      expect(await run(['migrate', 'up'])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('up to date') })
      const after = await run(['migrate', 'status', '--json'])
      expect(after.exitCode).toBe(0)
      expect(dataOf(after)).toMatchObject({ databases: [{ pending: [], drift: [] }] })
    })

    it('prints the statements for a DBA, which have the same result, without a config or a database', async () => {
      const print = ['migrate', 'print', '--schema', schema]
      const printed = await cli.run(print, { cwd: cli.dir })
      expect(printed.exitCode).toBe(0)
      await place.pool.query(printed.stdout)
      expect(await run(['migrate', 'status'])).toMatchObject({ exitCode: 0 })
    })

    it.each([
      ['alter table SCHEMA.inbox add column more int', /drift +unexpected column inbox\.more: integer/],
      ['alter table SCHEMA.attempt alter column n type bigint', /drift +missing column attempt\.n: integer/],
      ['drop index SCHEMA.inbox_done_at', /drift +missing index: .*inbox_done_at/],
      ['alter table SCHEMA.inbox reset (autovacuum_vacuum_scale_factor)', /drift +missing settings of inbox/],
      [
        "update SCHEMA.migration set name = 'other' where version = 1",
        /drift +migration 1: expected initial, got other/,
      ],
      ["insert into SCHEMA.migration values (900, 'later', true)", /drift +migration 900 later: not known .*update/],
    ])('reports drift, and exits with 1: %s', async (sql, told) => {
      await run(['migrate', 'up'])
      await place.pool.query(sql.replaceAll('SCHEMA', schema))
      const status = await run(['migrate', 'status'])
      expect(status.stdout).toMatch(told)
      expect(status.exitCode).toBe(1)
    })

    it('takes the role of CONSUME_ONCE_ADMIN_DATABASE_URL, and says unknown of what another may not compare', async () => {
      const role = uniqueName('weak')
      await place.pool.query(`create role ${role} login password 's3cret'`)
      try {
        const weak = new URL(url)
        weak.username = role
        weak.password = 's3cret'
        const env = { TEST_DATABASE_URL: weak.href }
        const refused = await run(['migrate', 'up'], env)
        expect(refused.exitCode).toBe(2)
        expect(refused.stderr).toMatch(/permission denied.*CONSUME_ONCE_ADMIN_DATABASE_URL/)
        expect(await run(['migrate', 'up'], { ...env, CONSUME_ONCE_ADMIN_DATABASE_URL: url })).toMatchObject({
          exitCode: 0,
        })
        await place.pool.query(
          `grant usage on schema ${schema} to ${role}; grant select on all tables in schema ${schema} to ${role}`,
        )
        const status = await run(['migrate', 'status'], env)
        expect(status).toMatchObject({
          exitCode: 0,
          stdout: expect.stringMatching(/unknown +this role may not create/),
        })
        await place.pool.query(`alter table ${schema}.inbox drop constraint inbox_pkey`)
        expect(await run(['migrate', 'status'], env)).toMatchObject({
          exitCode: 1,
          stdout: expect.stringMatching(/drift +table \S+inbox: expected .* on \(key, scope\), got none/),
        })
        expect(refused.stderr + status.stdout).not.toContain('s3cret')
      } finally {
        await place.pool.query(`drop owned by ${role}; drop role ${role}`)
      }
    })

    it('needs the config, or the URL; and a database that answers', async () => {
      const nowhere = await cli.run(['migrate', 'status'], { cwd: cli.dir })
      expect(nowhere).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('postgresMigrations({ pool })') })
      expect(await run(['migrate', 'status', '--dry-run'])).toMatchObject({ exitCode: 2 })
      const down = `postgres://postgres:s3cret@127.0.0.1:${await freePort()}/x`
      const unreachable = await run(['migrate', 'status'], { CONSUME_ONCE_ADMIN_DATABASE_URL: down })
      expect(unreachable.exitCode).toBe(4)
      expect(unreachable.stderr).not.toContain('s3cret')
    })
  })

  it('doctor reports the durability of the server in its verdict and its exit code', async () => {
    await run(['migrate', 'up'])
    const told = await run(['doctor', '--json'])
    const { consumers } = dataOf(told) as { consumers: { verdict: string; findings: { check: string }[] }[] }
    expect(consumers).toHaveLength(3)
    for (const { findings } of consumers) expect(findings.map(({ check }) => check)).toContain('postgres.fsync')
    expect(told.exitCode).toBe(consumers.some(({ verdict }) => verdict === 'broken') ? 1 : 0)
    const down = `postgres://postgres:s3cret@127.0.0.1:${await freePort()}/x`
    const silent = await run(['doctor', '--timeout', '5'], { TEST_DATABASE_URL: down })
    expect(silent.exitCode).toBe(4)
    expect(silent.stdout + silent.stderr).not.toContain('s3cret')
  })

  describe('positions', () => {
    it('are listed, and a hold is ended by a person, and written down', async () => {
      const store = postgresOffsets({ pool: place.newPool(), schema })
      await store.open()
      for (const stream of ['sms/0', 'sms/1', 'sms/2']) await holdAt(store, 'workers/by-offsets', stream, 50n, 'anew')
      const listed = await run(['positions', 'by-offsets'])
      expect(listed.exitCode).toBe(1)
      expect(listed.stdout).toMatch(/^sms\/0 +50 +\S+Z +\d+ m?s +anew$/m)
      const why = ['--reason', 'OPS-812', '--by', 'kim']
      const dry = await run(['release-hold', 'by-offsets', 'sms/0', '--from-beginning', ...why])
      expect(dry).toMatchObject({ exitCode: 3, stderr: expect.stringMatching(/held at 50 \(anew\) -> goes on at 0/) })
      expect(await run(['release-hold', 'by-offsets', 'sms/0', '--from-beginning', ...why, '--yes'])).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/^sms\/0 +50 +released$/m),
      })
      const kept = await run(['release-hold', 'by-offsets', 'sms/1', '--keep', ...why, '--yes', '--json'])
      expect(dataOf(kept)).toMatchObject({ partition: 'sms/1', verdict: 'released', from: 'position', by: 'kim' })
      expect(await run(['release-hold', 'by-offsets', 'sms/2', '--from', '7', ...why, '--yes'])).toMatchObject({
        exitCode: 0,
        stderr: expect.stringMatching(/goes on at 7: messages from there on .*; messages before it are never handled/),
      })
      const after = await run(['positions', 'by-offsets', '--json'])
      expect(after.exitCode).toBe(0)
      expect(dataOf(after)).toMatchObject({ positions: [{ position: '0' }, { position: '50' }, { position: '7' }] })
      const again = await run(['release-hold', 'by-offsets', 'sms/0', '--keep', ...why])
      expect(again).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('not-held') })
      const audit = `select decision, by_whom, reason, before->>'held' as held, before->>'next_offset' as next
        from ${schema}.audit where convert_from(key, 'UTF8') = 'sms/0'`
      expect((await place.pool.query(audit)).rows).toEqual([
        { decision: 'release-hold', by_whom: 'kim', reason: 'OPS-812', held: 'anew', next: '50' },
      ])
    })

    it('are refused to consumers that have records, and want one decision', async () => {
      const other = await run(['positions', 'in-inbox'])
      expect(other).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('strategy offsets, got inbox') })
      const both = ['release-hold', 'by-offsets', 'sms/0', '--keep', '--from', '0', '--reason', 'x']
      expect(await run(both)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('expected one of') })
    })
  })

  describe('records', () => {
    it.each([
      ['in-inbox', (): Store<unknown> => postgresInbox({ pool: place.newPool(), schema })],
      ['on-lease', (): Store<unknown> => postgresLease({ pool: place.newPool(), schema })],
    ])('are found, reopened and forgotten by another process, and written down (%s)', async (name, newStore) => {
      expect(await handle(name, newStore(), ['a', 'b yes'])).toEqual(['a'])
      const found = await run(['inspect', name, 'a', 'b', 'c', '--json'])
      expect(dataOf(found)).toMatchObject({ records: [{ state: 'done' }, { state: 'given-up' }, { state: 'absent' }] })
      const { key } = (dataOf(found) as { records: { key: string }[] }).records[1] ?? {}
      expect(dataOf(await run(['inspect', name, '--given-up', '--json']))).toMatchObject({
        records: [{ state: 'given-up', key }],
      })
      expect(await handle(name, newStore(), ['a', 'b'])).toEqual([])
      const why = ['--reason', 'OPS-812', '--by', 'kim', '--yes']
      expect(await run(['reopen', name, 'b', ...why])).toMatchObject({ exitCode: 0 })
      expect(await run(['forget', name, 'a', ...why])).toMatchObject({ exitCode: 0 })
      expect((await handle(name, newStore(), ['a', 'b'])).toSorted()).toEqual(['a', 'b'])
      const audit = `select decision, by_whom, reason, before is not null as has_before from ${schema}.audit order by at`
      const written = { by_whom: 'kim', reason: 'OPS-812', has_before: true }
      expect((await place.pool.query(audit)).rows).toEqual([
        { decision: 'reopen', ...written },
        { decision: 'forget', ...written },
      ])
    })

    it('cannot be asked for where the tables are missing', async () => {
      const missing = await run(['inspect', 'in-inbox', 'a'])
      expect(missing.exitCode).toBe(2)
      expect(missing.stderr).toContain('consume-once migrate status')
    })
  })
})
