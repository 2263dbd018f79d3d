import { describe, expect, it } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { adminOf, defineConsumer, messageId, type Admin } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { backends } from '../kit/backends.ts'
import { server } from '../kit/servers/server.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

const WHY = { by: 'kim', reason: 'OPS-1' }
const [MAILER, BILLER] = ['workers/mailer', 'workers/biller']

/** The key that a consumer gives to a message. */
const keyOf = async (admin: Admin, id: string): Promise<string> => (await admin.inspect([id]))[0]?.key ?? ''

const describeRedis = backends.has('redis') ? describe : describe.skip

describeRedis('Consumers that share a prefix on Redis', () => {
  let harness: RedisHarness
  beforeEachOpen(async (own) => (harness = own(await redisHarness((await server('redis')).url))))

  const of = (name: string): Admin => {
    const { store } = harness
    const consumer = defineConsumer({ name, store, id: messageId.header('id'), handle: () => {} })
    return adminOf(consumer, { group: 'workers', origins: ['mails'] })
  }
  const park = async (admin: Admin, id: string): Promise<string> => {
    const item = newItem({ key: await keyOf(admin, id) })
    const { claim: claimed } = await hold(harness.store, item, { scope: admin.scope })
    await harness.store.setAside([claimed], 'parked', { reason: 'in-doubt' })
    return item.key
  }

  const handle = async (admin: Admin, id: string): Promise<string> => {
    const item = newItem({ key: await keyOf(admin, id) })
    await harness.store.mark([(await hold(harness.store, item, { scope: admin.scope })).claim])
    return item.key
  }

  it('count and list what is parked once, for the one whose it is', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `consumer-${at}`)
    const key = await park(of('consumer-7'), 'a')
    const counts = await Promise.all(names.map(async (name) => (await of(name).stats()).parked.count))
    expect(counts.map((count, at) => [at, count]).filter(([, count]) => count !== 0)).toEqual([[7, 1]])
    const page = await of('consumer-7').list({ state: 'parked', limit: 10 })
    expect(page.records.map((record) => [record.key, record.scope])).toEqual([[key, undefined]])
  })

  it('decide by key about their own parked messages only', async () => {
    const [mailer, biller] = [of('mailer'), of('biller')]
    const key = await park(biller, 'a')
    for (const ref of [{ key }, { key, unscoped: true }]) {
      expect(await mailer.inspect([ref])).toMatchObject([{ state: 'absent', scope: 'another' }])
      expect(await mailer.resolve([ref], { ...WHY, as: 'rerun' })).toMatchObject([{ verdict: 'refused' }])
      expect(await mailer.resolve([ref], { ...WHY, as: 'done' })).toMatchObject([{ verdict: 'refused' }])
    }
    expect((await mailer.audit({ limit: 10 })).entries).toEqual([])
    const [own] = await biller.inspect(['a'])
    expect([own?.state, own?.scope]).toEqual(['parked', undefined])
    expect(await biller.resolve([{ key }], { ...WHY, as: 'rerun' })).toMatchObject([{ verdict: 'decided' }])
    expect((await biller.audit({ limit: 10 })).entries).toMatchObject([{ key, before: 'parked', decision: 'rerun' }])
  })

  it('forget what is done by its ID, and by key only where somebody says that it is theirs', async () => {
    const [mailer, biller] = [of('mailer'), of('biller')]
    const [key, other] = [await handle(biller, 'a'), await handle(biller, 'b')]
    await expect(mailer.forget([{ key }], WHY)).rejects.toThrow(
      /message 1: expected a key whose record says .*unscoped/,
    )
    const both = [{ key: await park(biller, 'c') }, { key }, { key: other }]
    await expect(biller.forget(both, WHY)).rejects.toThrow('message 2 and 1 more: expected a key')
    expect(await biller.inspect(['a', 'b'])).toMatchObject([{ state: 'done' }, { state: 'done' }])
    expect(await biller.forget(['a'], WHY)).toMatchObject([{ verdict: 'decided' }])
    expect(await biller.forget([{ key: other, unscoped: true }], WHY)).toMatchObject([{ verdict: 'decided' }])
  })

  it('keep nothing more for a message that is done, and 9 characters while it is under way', async () => {
    const { item, claim: claimed } = await holdNew(harness.store, { scope: MAILER })
    const { value: held } = await harness.look(item.key)
    expect(held).toMatch(/^P\|1\|1\|0\|.{22}\|.{12}~[\w-]{8}\|\d{13}$/)
    await harness.store.mark([claimed])
    expect((await harness.look(item.key)).value).toHaveLength(28)
    // Without a digest, and with a fence of two digits, the long form.
    for (const digest of ['', newItem().digest]) {
      const plain = newItem({ digest })
      for (let fence = 1; fence < 10; fence++) {
        const { claim: lost } = await hold(harness.store, plain, { scope: MAILER, alone: true })
        await harness.store.release([lost], { refund: true, doubt: false })
      }
      const last = await hold(harness.store, plain, { scope: MAILER })
      expect(await harness.store.mark([last.claim])).toEqual(['marked'])
      expect(await harness.store.mark([last.claim])).toEqual(['already-marked'])
      expect((await harness.look(plain.key)).value).toBe(`D|10|0|0|${digest}|${last.claim.token}|`)
      expect(await claim(harness.store, plain, { scope: BILLER })).toMatchObject({ verdict: 'done' })
    }
  })
})
