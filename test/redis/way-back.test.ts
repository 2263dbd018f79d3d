import { describe, expect, it } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { Redis } from 'ioredis'
import { redisLease } from 'consume-once/redis'
import { adminOf, defineConsumer, messageId, type Consumer } from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { startPrivateRedis, type PrivateRedis } from '../kit/servers/private-redis.ts'

const IDS = Array.from({ length: 100 }, (_, at) => `sms-${at}`)

const describeRedis = backends.has('redis') ? describe : describe.skip

const deliverToNew = async (consumer: Consumer, ids: readonly string[]): Promise<void> => {
  const broker = new MemoryBroker()
  for (const id of ids) broker.publish('sms', { value: Buffer.from('{}'), headers: { id } })
  const running = await runMemory(broker, consumer, { topic: 'sms', group: 'sms' })
  await broker.drained('sms', 'sms')
  await running.stop()
}

/** What docs/migrate.md and docs/upgrade.md promise to somebody who goes back, or leaves. */
describeRedis('From redisLease', () => {
  let ownRedis: PrivateRedis
  let redis: Redis
  const oldPrefix = uniqueName('old')
  beforeEachOpen(async (own) => {
    ownRedis = own(await startPrivateRedis())
    redis = own(new Redis(ownRedis.url))
  })

  const oldKey = (id: string): string => `${oldPrefix}:${id}`

  const newConsumer = (effects: string[], { writesOldKeys }: { readonly writesOldKeys: boolean }): Consumer =>
    defineConsumer({
      name: 'sms-sender',
      id: messageId.header('id'),
      store: redisLease({ redis, prefix: 'co' }),
      handle: async ({ message, skip }) => {
        const id = String(message.headers['id'])
        if ((await redis.exists(oldKey(id))) === 1) return skip('handled by the old consumer')
        effects.push(id)
        if (writesOldKeys) await redis.set(oldKey(id), '1', 'EX', 86_400).catch(() => {})
        return undefined
      },
    })

  /** SET NX by hand, before the effect. */
  const deliverToOld = async (effects: string[], ids: readonly string[]): Promise<void> => {
    for (const id of ids) if ((await redis.set(oldKey(id), '1', 'EX', 86_400, 'NX')) === 'OK') effects.push(id)
  }

  it('back to SET NX by hand repeats 0 of 100, if the handler has written the old keys', async () => {
    const effects: string[] = []
    await deliverToOld(effects, IDS.slice(0, 30))
    await deliverToNew(newConsumer(effects, { writesOldKeys: true }), IDS)
    expect(effects.toSorted()).toEqual(IDS.toSorted())
    await deliverToOld(effects, [...IDS, 'sms-new'])
    // And forth again: what the old one has handled meanwhile does not run.
    await deliverToNew(newConsumer(effects, { writesOldKeys: true }), [...IDS, 'sms-new'])
    expect(effects.toSorted()).toEqual([...IDS, 'sms-new'].toSorted())
  })

  it('repeats all 100 without them', async () => {
    const effects: string[] = []
    await deliverToNew(newConsumer(effects, { writesOldKeys: false }), IDS)
    await deliverToOld(effects, IDS)
    expect(effects).toHaveLength(200)
  })

  it('leaves no key but those that begin with its prefix', async () => {
    const consumer = newConsumer([], { writesOldKeys: false })
    await deliverToNew(consumer, IDS)
    const admin = adminOf(consumer, { group: 'sms', origins: ['sms'] })
    await admin.forget(['sms-1'], { by: 'kim', reason: 'OPS-1' })
    await admin.import(['sms-import'], { by: 'kim', reason: 'OPS-1' })
    await admin.note({ what: 'pause', about: 'consumer', by: 'kim', reason: 'OPS-1' })
    const keys = await redis.keys('*')
    expect(keys.length).toBeGreaterThan(IDS.length + 2)
    expect(keys.filter((key) => !key.startsWith('co:'))).toEqual([])
  })
})
