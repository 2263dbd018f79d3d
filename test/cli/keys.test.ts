// Every command takes a key as a person has it: from a provider, from a list, and with a hyphen at its beginning.
import { describe, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConsumer, messageId, OutcomeUnknownError } from '../../src/index.ts'
import { identityOf, type Identity } from '../../src/identity/digest.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { backends } from '../kit/backends.ts'
import { Cli, dataOf, WITHIN_MS, type CliRun } from '../kit/cli-process.ts'
import { uniqueName } from '../kit/namespace.ts'
import { beforeEachOpen } from '../kit/opened.ts'
import { removeKeys } from '../kit/servers/clients.ts'
import { server } from '../kit/servers/server.ts'

jest.setTimeout(2 * WITHIN_MS)

const describeRedis = backends.has('redis') ? describe : describe.skip

/** A message whose key begins so. */
function messageWith(beginning: string): Identity & { readonly id: string } {
  const scope = ['mails', 'mails', 'mailer'].map((part) => Buffer.from(part))
  for (let number = 0; ; number++) {
    const id = `order-${number}`
    const identity = identityOf(scope, Buffer.from(id))
    if (identity.key.startsWith(beginning)) return { id, ...identity }
  }
}

describeRedis('a key', () => {
  let cli: Cli
  let redis: Redis
  let prefix: string
  beforeEachOpen(async (own) => {
    cli = own(new Cli())
    redis = own(new Redis((await server('redis')).url, { commandTimeout: 5_000 }))
    prefix = uniqueName('cli')
    own(() => removeKeys(redis, prefix))
  })

  const on = async (...args: readonly string[]): Promise<CliRun> =>
    cli.run(args, {
      env: {
        CONSUME_ONCE_CONFIG: 'test/cli/redis.config.ts',
        TEST_REDIS_URL: (await server('redis')).url,
        TEST_PREFIX: prefix,
      },
    })

  const numbered = (...args: readonly string[]): Promise<CliRun> =>
    on(...args, '--config', 'test/cli/sequences.config.ts')

  async function park(...ids: readonly string[]): Promise<void> {
    const consumer = defineConsumer({
      name: 'mailer',
      store: redisLease({ redis, prefix }),
      id: messageId.header('id'),
      onInDoubt: 'park',
      handle: () => {
        throw new OutcomeUnknownError('no answer')
      },
    })
    const broker = new MemoryBroker()
    const running = await runMemory(broker, consumer, { topic: 'mails', group: 'mails' })
    for (const id of ids) broker.publish('mails', { value: Buffer.from('{}'), headers: { id } })
    await broker.drained('mails', 'mails')
    await running.stop()
  }

  it('that begins with a hyphen, or has something behind it, is no option', async () => {
    // As the short options of the help and of the version.
    const [help, version] = [messageWith('-h'), messageWith('-V')]
    await park(help.id, version.id)
    const { key, idempotencyKey } = help
    for (const given of [key, `${idempotencyKey}-charge`]) {
      const why = await on('why', given, '--json')
      expect(dataOf(why)).toMatchObject({ found: [{ record: { key, state: 'parked' } }] })
    }
    const another = await on('why', '--consumer', 'mailer', version.key, '--json')
    expect(dataOf(another)).toMatchObject({ found: [{ record: { key: version.key } }] })

    for (const given of [[key], [`${idempotencyKey}:charge`], ['--key', key.slice(0, 6)]]) {
      const inspected = await on('inspect', 'mailer', '--json', ...given)
      expect(dataOf(inspected)).toMatchObject({ records: [{ key, state: 'parked' }] })
    }
    const why = ['--reason', 'OPS-812', '--by', 'kim', '--yes']
    expect(await on('resolve', 'mailer', key, '--done', ...why)).toMatchObject({ exitCode: 0 })
    expect(await on('resolve', 'mailer', '--done', ...why, '--key', version.key)).toMatchObject({ exitCode: 0 })
    for (const given of [[`${idempotencyKey}-charge`], ['--key', key.slice(0, 6)]]) {
      const audit = await on('audit', 'mailer', ...given, '--json')
      expect(dataOf(audit)).toMatchObject({ entries: [{ key, decision: 'done', reason: 'OPS-812' }] })
    }
    for (const given of [[key], ['--key', `${idempotencyKey}-charge`]]) {
      const redrive = await on('redrive', 'mailer', '--dry-run', ...given)
      expect(redrive.stderr).toContain('a redrive publishes')
    }
    expect((await on('find', '--text', key)).stderr).toContain('no place of dead letters')
  })

  it('of sequences has 36 characters', async () => {
    const byId = await numbered('inspect', 'meters', '17:meter-4', '--json')
    const [{ key = '' } = {}] = (dataOf(byId) as { records: { key?: string }[] }).records
    expect(key).toHaveLength(36)
    for (const given of [key, `${key}-charge`]) {
      const why = await numbered('why', given, '--json')
      expect(dataOf(why)).toMatchObject({ found: [{ record: { key, state: 'parked', idempotency_key: key } }] })
    }
    for (const given of [[key], ['--key', key], ['--key', key.slice(0, 30)]]) {
      const inspected = await numbered('inspect', 'meters', '--json', ...given)
      expect(dataOf(inspected)).toMatchObject({ records: [{ key, state: 'parked' }] })
    }
    const decided = await numbered('resolve', 'meters', key, '--done', '--reason', 'OPS-812', '--yes')
    expect(decided).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/ parked +decided$/m) })
    expect(dataOf(await numbered('audit', 'meters', key, '--json'))).toMatchObject({ entries: [{ key }] })
    const short = await numbered('redrive', 'meters', '--dry-run', '--key', 'x'.repeat(22))
    expect(short).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('expected a key of 36 characters') })
    const noId = await numbered('inspect', 'meters', 'order-17')
    expect(noId).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('or a key of 36 characters') })
  })

  it('is still told from an option with a mistake in it', async () => {
    for (const wrong of ['--look-at-mostly-a-few', '-x']) {
      expect(await on('why', 'order-17', wrong)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(`unknown option '${wrong}'`),
      })
    }
  })
})
