import { describe, expect, it, jest } from '@jest/globals'
import { removeKeys } from '../kit/servers/clients.ts'
import { beforeEachOpen } from '../kit/opened.ts'
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConsumer, messageId, OutcomeUnknownError, type Store } from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { freePort } from '../kit/servers/ports.ts'
import { startPrivateRedis } from '../kit/servers/private-redis.ts'
import { server } from '../kit/servers/server.ts'
import { AS_PROCESS, Cli, dataOf, WITHIN_MS, type CliRun, type RunOptions } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

interface Audit {
  readonly entries: readonly { readonly key: string; readonly reason: string }[]
  readonly more: boolean
  readonly next?: string
}

const describeRedis = backends.has('redis') ? describe : describe.skip

/** Handles messages, or loses the provider's answer, as a process before did. Returns the IDs that were handled. */
async function handle(
  store: Store,
  ids: readonly string[],
  {
    answerIsLost = false,
    mode = 'enforce',
    name = 'mailer',
  }: { answerIsLost?: boolean; mode?: 'enforce' | 'observe'; name?: string } = {},
): Promise<string[]> {
  const handled: string[] = []
  const consumer = defineConsumer({
    name,
    store,
    mode,
    id: messageId.header('id'),
    onInDoubt: 'park',
    handle: ({ message }) => {
      if (answerIsLost) throw new OutcomeUnknownError('no answer')
      handled.push(String(message.headers['id']))
    },
  })
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, { topic: 'mails', group: 'mails' })
  for (const id of ids) broker.publish('mails', { value: Buffer.from('{}'), headers: { id } })
  await broker.drained('mails', 'mails')
  await running.stop()
  return handled
}

describeRedis('consume-once, on Redis', () => {
  let cli: Cli
  let redis: Redis
  let url: string
  let prefix: string
  beforeEachOpen(async (own) => {
    cli = own(new Cli())
    url = (await server('redis')).url
    redis = own(new Redis(url, { commandTimeout: 5_000 }))
    prefix = uniqueName('cli')
    own(() => removeKeys(redis, prefix))
  })

  const on = (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    how: RunOptions = {},
  ): Promise<CliRun> =>
    cli.run(args, {
      ...how,
      env: { CONSUME_ONCE_CONFIG: 'test/cli/redis.config.ts', TEST_REDIS_URL: url, TEST_PREFIX: prefix, ...env },
    })

  it('finds by ID and by key what another process has parked, and decides about it', async () => {
    const store = redisLease({ redis, prefix })
    await handle(store, ['happened', 'not'], { answerIsLost: true })
    const { records } = dataOf(await on(['inspect', 'mailer', '--parked', '--json'])) as { records: { key: string }[] }
    expect(records).toHaveLength(2)
    const why = ['--reason', 'OPS-812', '--by', 'kim', '--yes']
    expect(await on(['resolve', 'mailer', 'happened', '--done', ...why], {}, AS_PROCESS)).toMatchObject({ exitCode: 0 })
    const both = await on(
      ['resolve', 'mailer', '--key', '-', '--rerun', ...why],
      {},
      { stdin: records.map(({ key }) => key).join('\n') },
    )
    expect(both.stdout).toMatch(/parked +decided/)
    expect(both.stdout).toMatch(/done +refused/)
    expect(both.exitCode).toBe(1)
    expect(await handle(store, ['happened', 'not'])).toEqual(['not'])
    expect(dataOf(await on(['inspect', 'mailer', '--stats', '--json']))).toMatchObject({
      stats: { parked: { count: 0, is_at_least: false } },
    })
  })

  it('decides about the records of one consumer only, though another one has the same prefix', async () => {
    const store = redisLease({ redis, prefix })
    await handle(store, ['bill'], { answerIsLost: true, name: 'biller' })
    await handle(store, ['done'], { name: 'biller' })
    const keyOf = async (id: string): Promise<string> => {
      const { records } = dataOf(await on(['inspect', 'biller', id, '--json'])) as { records: { key: string }[] }
      return records[0]?.key ?? ''
    }
    const [parked, done] = [await keyOf('bill'), await keyOf('done')]
    const why = ['--reason', 'OPS-812', '--by', 'kim', '--yes']
    const listed = dataOf(await on(['inspect', 'mailer', '--parked', '--json']))
    expect(listed).toMatchObject({ records: [] })
    const shown = await on(['inspect', 'mailer', '--key', parked])
    expect(shown.stdout).toContain('of another consumer')
    expect(shown.stderr).toContain('of another consumer of this store: ask that one')
    expect((await on(['inspect', 'biller', '--key', done])).stderr).toContain(`--unscoped ${done}`)
    const rerun = await on(['resolve', 'mailer', '--rerun', '--key', parked, '--unscoped', ...why])
    expect(rerun).toMatchObject({ exitCode: 1 })
    expect(rerun.stderr).toContain('stays: it is a record of another consumer of this store')
    const forgotten = await on(['forget', 'mailer', '--key', done, ...why])
    expect(forgotten).toMatchObject({ exitCode: 1 })
    expect(forgotten.stderr).toContain('give its message ID, or --unscoped if it is surely of this one')
    expect(dataOf(await on(['audit', 'mailer', '--json']))).toMatchObject({ entries: [] })
    expect(await handle(store, ['bill', 'done'], { name: 'biller' })).toEqual([])
    expect(await on(['resolve', 'biller', '--rerun', '--key', parked, ...why])).toMatchObject({ exitCode: 0 })
    expect(await on(['forget', 'biller', '--key', done, '--unscoped', ...why])).toMatchObject({ exitCode: 0 })
    expect(await handle(store, ['bill', 'done'], { name: 'biller' })).toEqual(['bill', 'done'])
  })

  it('tells who decided what, when and why, the newest first, by ID and by key', async () => {
    const store = redisLease({ redis, prefix })
    expect((await on(['audit', 'mailer'])).stderr).toContain('No decision is in the audit of mails/mailer')
    await handle(store, ['happened', 'not'], { answerIsLost: true })
    const decide = (id: string, how: string, reason: string): Promise<CliRun> =>
      on(['resolve', 'mailer', id, how, '--reason', reason, '--by', 'kim', '--yes'])
    await decide('happened', '--done', 'OPS-1')
    await decide('not', '--rerun', 'OPS-2')
    await on(['forget', 'mailer', 'happened', '--reason', 'OPS-3', '--by', 'ada', '--yes'])
    const reasons = async (...args: string[]): Promise<readonly string[]> => {
      const { entries } = dataOf(await on(['audit', 'mailer', ...args, '--json'])) as Audit
      return entries.map(({ reason }) => reason)
    }
    const all = dataOf(await on(['audit', 'mailer', '--json'])) as Audit
    expect(all).toMatchObject({
      schema_version: 1,
      entries: [
        { reason: 'OPS-3', by: 'ada', decision: 'forget', before: 'done' },
        { reason: 'OPS-2', by: 'kim', decision: 'rerun', before: 'parked' },
        { reason: 'OPS-1', by: 'kim', decision: 'done', before: 'parked' },
      ],
      more: false,
    })
    // The record of a message that was forgotten is gone.
    expect(await reasons('happened')).toEqual(['OPS-3', 'OPS-1'])
    const key = all.entries[0]?.key ?? ''
    expect(await reasons('--key', key)).toEqual(['OPS-3', 'OPS-1'])
    expect(await reasons('--key', key.slice(0, 8))).toEqual(['OPS-3', 'OPS-1'])
    expect(await reasons('--all')).toEqual(['OPS-3', 'OPS-2', 'OPS-1'])
    const first = dataOf(await on(['audit', 'mailer', '--limit', '2', '--json'])) as Audit
    expect([first.entries.length, first.more]).toEqual([2, true])
    expect(await reasons('--after', first.next ?? '')).toEqual(['OPS-1'])
    const ofAll = dataOf(await on(['audit', '--limit', '2', '--json']))
    expect(ofAll).toMatchObject({
      entries: [
        { consumer: 'mails/mailer', reason: 'OPS-3' },
        { consumer: 'mails/mailer', reason: 'OPS-2' },
      ],
      more: true,
      problems: [],
    })
    const rest = dataOf(await on(['audit', '--after', (ofAll as Audit).next ?? '', '--json']))
    expect(rest).toMatchObject({ entries: [{ consumer: 'mails/mailer', reason: 'OPS-1' }], more: false })
    const told = await on(['audit', 'mailer', 'not'])
    expect(told.stdout).toMatch(
      /^AT +AGE +BY +DECISION +WAS +KEY +REASON\n\S+Z +\d+ m?s +kim +rerun +parked +\S{22} +OPS-2\n$/,
    )
  })

  it('reports what mode observe has seen of a consumer, also after its process', async () => {
    const none = await on(['report', 'mailer'])
    expect(none).toMatchObject({ exitCode: 3, stdout: '' })
    expect(none.stderr).toContain("no report of mails/mailer: run it with mode: 'observe'")
    const handled = await handle(redisLease({ redis, prefix }), ['a', 'b', 'a', 'c'], { mode: 'observe' })
    expect(handled).toEqual(['a', 'b', 'a', 'c'])
    const shown = await on(['report', 'mailer'])
    expect(shown).toMatchObject({ exitCode: 0, stderr: '' })
    expect(shown.stdout).toMatch(
      /^mails\/mailer: 4 messages observed from \S+Z to \S+Z\n\n25\.0 % would have been dropped/,
    )
    expect(shown.stdout).toMatch(/\nduplicate +\S+Z +mails \S+ +\d+ ms +\S{22}\n$/)
    const json = dataOf(await on(['report', 'mailer', '--json']))
    expect(json).toMatchObject({ consumer: 'mails/mailer', counts: { run: 3, duplicate: 1, conflict: 0, unknown: 0 } })
    // Its records are those of a consumer that enforces.
    expect(await handle(redisLease({ redis, prefix }), ['a', 'd'])).toEqual(['d'])
  })

  it('has nothing to purge, says so, and asks nothing', async () => {
    const run = await on(['purge', 'mailer'])
    expect(run).toMatchObject({ exitCode: 0, stdout: '0 removed\n' })
    expect(run.stderr).toContain('mails/mailer: the store ends records by itself, nothing is left to remove')
    expect(run.stderr).not.toContain('are removed')
  })

  it('finds a server that evicts marks, and exits with 1', async () => {
    await using evicting = await startPrivateRedis({
      args: ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'],
    })
    const run = await on(['doctor', 'mailer', '--json'], { TEST_REDIS_URL: evicting.url })
    expect(run.exitCode).toBe(1)
    expect(dataOf(run)).toMatchObject({
      consumers: [
        {
          verdict: 'broken',
          findings: expect.arrayContaining([
            expect.objectContaining({ of: 'store', check: 'redis.eviction', verdict: 'broken' }),
            expect.objectContaining({ of: 'broker', check: 'broker.checkup', verdict: 'unknown' }),
          ]),
        },
      ],
    })
  })

  it('exits with 4 where the server is not there, and tells no secret [T122]', async () => {
    const down = `redis://:s3cret@127.0.0.1:${await freePort()}`
    const unreachable = await on(['inspect', 'mailer', 'a', '--timeout', '5'], { TEST_REDIS_URL: down }, AS_PROCESS)
    expect(unreachable.exitCode).toBe(4)
    expect(unreachable.stderr).not.toContain('s3cret')
    const silent = await on(['doctor', '--timeout', '5', '--json'], { TEST_REDIS_URL: down })
    expect(silent.exitCode).toBe(4)
    expect(dataOf(silent)).toMatchObject({ consumers: [{ unreachable: ['store'] }, { unreachable: ['store'] }] })
  })
})
