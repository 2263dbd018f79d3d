import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Pool } from 'pg'
import { postgresOutbox, type PostgresOutbox } from '../../adapters/pg/index.ts'
import { identityOf } from '../../src/identity/digest.ts'
import { backends } from '../kit/backends.ts'
import { AS_PROCESS, Cli, dataOf, WITHIN_MS, type CliRun, type RunOptions } from '../kit/cli-process.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'

jest.setTimeout(WITHIN_MS)

const describePostgres = backends.has('postgres') ? describe : describe.skip

describePostgres('consume-once, on an outbox', () => {
  let cli: Cli
  let pool: Pool
  let schema: string
  let outbox: PostgresOutbox
  beforeEach(async () => {
    cli = new Cli()
    cli.file('broker', '')
    schema = uniqueName('cli')
    pool = new Pool({ connectionString: (await server('postgres')).url, max: 3 })
    await pool.query(`create schema ${schema}`)
    outbox = postgresOutbox({ pool, schema, relay: false })
    await outbox.open()
  })
  afterEach(async () => {
    await pool.query(`drop schema ${schema} cascade`)
    await pool.end()
    cli[Symbol.dispose]()
  })

  const run = async (args: readonly string[], how: RunOptions = {}): Promise<CliRun> =>
    cli.run(args, {
      ...how,
      env: {
        CONSUME_ONCE_CONFIG: 'test/cli/outbox.config.ts',
        TEST_DATABASE_URL: (await server('postgres')).url,
        TEST_SCHEMA: schema,
        TEST_BROKER_FILE: cli.path('broker'),
      },
    })
  const park = (id: string): Promise<unknown> =>
    pool.query(
      `update ${schema}.outbox set parked_at = now(), attempts = 3, cause = 'too large' where message_id = $1`,
      [id],
    )

  it('shows what waits and what is parked, publishes that after all when a person says so, and runs a relay', async () => {
    const nothing = await run(['inspect', 'payments', '--outbox'], AS_PROCESS)
    expect([nothing.exitCode, nothing.stderr]).toEqual([0, 'Nothing waits in the outbox of billing/payments.\n'])
    const client = await pool.connect()
    await outbox.publish(
      client,
      ['a', 'b', 'c'].map((id) => ({ topic: 'paid', value: '', messageId: id })),
    )
    client.release()
    await park('b')
    const shown = await run(['inspect', 'payments', '--outbox'])
    expect(shown.exitCode).toBe(0)
    expect(shown.stdout).toMatch(/paid +kafka +2 +0 +1/)
    expect(shown.stdout).toMatch(/2 +paid +b +3 +parked +too large\n/)
    expect(shown.stderr).toBe('Try one now: npx consume-once redrive billing/payments --outbox 2 --reason WHY\n')
    expect(dataOf(await run(['inspect', 'payments', '--outbox', '--json']))).toMatchObject({
      command: 'inspect',
      consumer: 'billing/payments',
      backlog: [{ place: 'paid', waiting: 2, parked: 1 }],
      refused: [{ messageId: 'b', cause: 'too large', isParked: true }],
    })

    const why = ['--reason', 'OPS-812', '--by', 'ana']
    const dry = await run(['redrive', 'payments', '--outbox', 'all', '--dry-run'])
    expect([dry.exitCode, dry.stderr]).toEqual([0, '  2: b to paid: too large\n'])
    const unsure = await run(['redrive', 'payments', '--outbox', '2', ...why], AS_PROCESS)
    expect([unsure.exitCode, unsure.stderr]).toEqual([
      3,
      expect.stringMatching(/ {2}2: b to paid: too large\n.*add --yes/),
    ])
    const redriven = await run(['redrive', 'payments', '--outbox', 'all', ...why, '--yes'])
    expect([redriven.exitCode, redriven.stdout]).toEqual([
      0,
      '1 of 1 had been refused: a relay tries it at its next look.\n',
    ])
    const none = await run(['redrive', 'payments', '--outbox', '77', ...why, '--yes'])
    expect([none.exitCode, none.stderr]).toEqual([1, '  not refused, or not among the first 100: 77\n'])
    expect(none.stdout).toBe('None of 1 is refused or parked: nothing is tried.\n')
    const nothingLeft = await run(['redrive', 'payments', '--outbox', 'all', ...why, '--yes'])
    expect([nothingLeft.exitCode, nothingLeft.stdout]).toEqual([
      0,
      'Nothing is refused or parked: there is nothing to try.\n',
    ])
    expect(dataOf(await run(['audit', 'payments', '--decision', 'redrive', '--json']))).toMatchObject({
      entries: [{ decision: 'redrive', by: 'ana', reason: 'OPS-812', about: 'outbox 2: b to paid' }],
    })

    const relay = await run(['relay', 'payments'], {
      onStderr: (text, signal) => {
        if (!text.includes('publishes the outbox')) return
        void eventually(async () => cli.read('broker').split('\n').length === 4).then(() => signal('SIGTERM'))
      },
    })
    expect(relay.exitCode).toBe(143)
    expect(cli.read('broker').trim().split('\n').toSorted()).toEqual(['a', 'b', 'c'])
    expect(await outbox.backlog()).toEqual([])
  })

  it('leads from a message that was refused to the one that was handled', async () => {
    const { idempotencyKey, key } = identityOf(
      ['billing', 'orders', 'payments'].map((part) => Buffer.from(part)),
      Buffer.from('order-17'),
    )
    const client = await pool.connect()
    await outbox.publish(client, { topic: 'paid', key: 'acc-9', value: '', messageId: `${idempotencyKey}-0` })
    client.release()
    await park(`${idempotencyKey}-0`)
    const shown = await run(['inspect', 'payments', '--outbox'])
    expect(shown.stdout).toMatch(/PLACE +KEY +MESSAGE ID/)
    expect(shown.stdout).toMatch(/ paid +acc-9 +\S{43}-0 +3 +parked /)
    expect(shown.stderr).toContain(
      `The message that was handled: npx consume-once why ${key.startsWith('-') ? '-- ' : ''}${key}\n`,
    )
    await pool.query(`insert into ${schema}.outbox (lane, line, system, message_id, place, attributes)
      select lane, line, system, '${idempotencyKey}-1', place, attributes from ${schema}.outbox`)
    const why = await run(['why', 'order-17'])
    expect(why.exitCode).toBe(0)
    expect(why.stdout).toMatch(/^ {2}outbox +1: \S{43}-0 to paid, parked, refused 3 times: too large$/m)
    expect(why.stdout).toMatch(/^ {2}outbox +2: \S{43}-1 to paid, waits$/m)
    expect(why.stdout).toContain(`1 event of it was refused by the broker, because: too large. Mend that first.
  Tries again what was refused:
    npx consume-once redrive payments --outbox 1 --reason WHY
1 event of it waits in the outbox: no relay has published it yet.
  Shows what waits there, since when and why:
    npx consume-once inspect payments --outbox
`)
    const told = dataOf(await run(['why', key, '--json', '--consumer', 'payments']))
    expect(told).toMatchObject({
      found: [
        {
          record: { key },
          outbox: [
            { id: '1', parked: true, cause: 'too large' },
            { id: '2', parked: false },
          ],
          next: [{ command: expect.stringContaining('--outbox 1') }, { command: expect.stringContaining('--outbox') }],
        },
      ],
    })
    for (const given of [idempotencyKey, `${idempotencyKey}-0`, key]) {
      const inspected = dataOf(await run(['inspect', 'payments', '--json', '--key', '--', given]))
      expect(inspected).toMatchObject({ records: [{ key }] })
      expect((await run(['audit', 'payments', '--key', '--', given])).exitCode).toBe(0)
    }
  })

  it('says what a consumer lacks that has none, and how it is typed', async () => {
    const plain = await run(['inspect', 'plain', '--outbox'])
    expect([plain.exitCode, plain.stderr]).toEqual([2, expect.stringContaining('expected one with an outbox')])
    const both = await run(['inspect', 'payments', '--outbox', '--parked'])
    expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('or one of --parked')])
    const rated = await run(['redrive', 'payments', '--max-replays', '2', '--outbox', '1', '--reason', 'x'])
    expect([rated.exitCode, rated.stderr]).toEqual([2, expect.stringContaining('--outbox: expected no --max-replays')])
    const silent = await run(['redrive', 'payments', '--outbox', '1', '--yes'])
    expect([silent.exitCode, silent.stderr]).toEqual([2, expect.stringContaining('--reason: expected why')])
  })
})
