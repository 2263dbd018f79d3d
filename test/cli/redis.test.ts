import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/ioredis/index.ts'
import { defineConsumer, MemoryBroker, messageId, OutcomeUnknownError, runMemory, type Store } from '../../src/index.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { freePort } from '../kit/servers/ports.ts'
import { startPrivateRedis } from '../kit/servers/private-redis.ts'
import { server } from '../kit/servers/server.ts'
import { Cli, dataOf, WITHIN_MS, type CliRun } from './cli-process.ts'

jest.setTimeout(WITHIN_MS)

const describeRedis = backends.has('redis') ? describe : describe.skip

/** Handles messages, or loses the provider's answer, as a process before did. Returns the IDs that were handled. */
async function handle(store: Store, ids: readonly string[], answerIsLost = false): Promise<string[]> {
  const handled: string[] = []
  const consumer = defineConsumer({
    name: 'mailer',
    store,
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
  beforeEach(async () => {
    cli = new Cli()
    url = (await server('redis')).url
    redis = new Redis(url, { commandTimeout: 5_000 })
    prefix = uniqueName('cli')
  })
  afterEach(async () => {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      if ((keys as string[]).length > 0) await redis.del(keys as string[])
    }
    redis.disconnect()
    cli[Symbol.dispose]()
  })

  const on = (args: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ''): Promise<CliRun> =>
    cli.run(args, {
      stdin,
      env: { CONSUME_ONCE_CONFIG: 'test/cli/redis.config.ts', TEST_REDIS_URL: url, TEST_PREFIX: prefix, ...env },
    })

  it('finds by ID and by key what another process has parked, and decides about it', async () => {
    const store = redisLease({ redis, prefix })
    await handle(store, ['happened', 'not'], true)
    const { records } = dataOf(await on(['inspect', 'mailer', '--parked', '--json'])) as { records: { key: string }[] }
    expect(records).toHaveLength(2)
    const why = ['--reason', 'OPS-812', '--by', 'kim', '--yes']
    expect(await on(['resolve', 'mailer', 'happened', '--done', ...why])).toMatchObject({ exitCode: 0 })
    const both = await on(
      ['resolve', 'mailer', '--key', '-', '--rerun', ...why],
      {},
      records.map(({ key }) => key).join('\n'),
    )
    expect(both.stdout).toMatch(/parked +decided/)
    expect(both.stdout).toMatch(/done +refused/)
    expect(both.exitCode).toBe(1)
    expect(await handle(store, ['happened', 'not'])).toEqual(['not'])
    expect(dataOf(await on(['inspect', 'mailer', '--stats', '--json']))).toMatchObject({
      stats: { parked: { count: 0, is_at_least: false } },
    })
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
    const unreachable = await on(['inspect', 'mailer', 'a', '--timeout', '5'], { TEST_REDIS_URL: down })
    expect(unreachable.exitCode).toBe(4)
    expect(unreachable.stderr).not.toContain('s3cret')
    const silent = await on(['doctor', '--timeout', '5', '--json'], { TEST_REDIS_URL: down })
    expect(silent.exitCode).toBe(4)
    expect(dataOf(silent)).toMatchObject({ consumers: [{ unreachable: ['store'] }] })
  })
})
