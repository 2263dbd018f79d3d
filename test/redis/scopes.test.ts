import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { KeyNames } from '../../adapters/redis/records/key-names.ts'
import { adminOf, defineConsumer, messageId, type Admin } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { server } from '../kit/servers/server.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

/** The scripts of version 0.1.0, as they were: never changed. */
const OLD = JSON.parse(readFileSync(new URL('scripts-0.1.0.json', import.meta.url), 'utf8')) as Readonly<
  Record<'claim' | 'mark' | 'setAside' | 'decide', readonly string[]>
>

const WHY = { by: 'kim', reason: 'OPS-1' }
const [MAILER, BILLER] = ['workers/mailer', 'workers/biller']

/** The key that a consumer gives to a message. */
const keyOf = async (admin: Admin, id: string): Promise<string> => (await admin.inspect([id]))[0]?.key ?? ''

const describeRedis = backends.has('redis') ? describe : describe.skip

describeRedis('Consumers that share a prefix on Redis', () => {
  let harness: RedisHarness
  beforeEach(async () => {
    harness = await redisHarness((await server('redis')).url)
  })
  afterEach(() => harness.close())

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

  /** As a process of version 0.1 does. */
  const parkedByOld = async (admin: Admin, id: string): Promise<string> => {
    const key = await keyOf(admin, id)
    const name = new KeyNames(harness.prefix, 16).of(key)
    const run = (script: keyof typeof OLD, ...words: readonly (string | number)[]): Promise<unknown> =>
      harness.redis.eval(OLD[script].join('\n'), 1, name, ...words)
    const digest = newItem().digest
    expect(await run('claim', 'token-of-old', 60_000, '60000', '1', '0', digest)).toEqual(['c'])
    expect(await run('setAside', 'X', 'in-doubt', 'token-of-old')).toEqual(['parked'])
    return key
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

  it('show a record of version 0.1 as such to each of them, and decide about it by ID or on demand', async () => {
    const [mailer, biller] = [of('mailer'), of('biller')]
    const [key, other] = [await parkedByOld(biller, 'a'), await parkedByOld(biller, 'b')]
    for (const admin of [mailer, biller]) {
      const { records } = await admin.list({ state: 'parked', limit: 10 })
      expect(records.map((record) => record.scope)).toEqual(['unknown', 'unknown'])
      await expect(admin.resolve([{ key }], { ...WHY, as: 'rerun' })).rejects.toThrow('does not say whose it is')
    }
    // The ID of the message is turned into another key for another consumer.
    expect(await mailer.resolve(['a'], { ...WHY, as: 'done' })).toMatchObject([{ verdict: 'refused' }])
    expect(await biller.resolve(['a'], { ...WHY, as: 'done' })).toMatchObject([{ verdict: 'decided' }])
    const unscoped = { key: other, unscoped: true }
    expect(await biller.resolve([unscoped], { ...WHY, as: 'rerun' })).toMatchObject([{ verdict: 'decided' }])
  })

  it('keep a record of their own when version 0.1 has decided about it beside them', async () => {
    const [mailer, biller] = [of('mailer'), of('biller')]
    const key = await park(biller, 'a')
    const names = [new KeyNames(harness.prefix, 16).of(key), `${harness.prefix}:audit`]
    await harness.redis.eval(OLD.decide.join('\n'), 2, ...names, 'done', '60000', 'alice', 'because')
    const [own] = await biller.inspect(['a'])
    expect([own?.state, own?.scope]).toEqual(['done', undefined])
    expect(await mailer.forget([{ key, unscoped: true }], WHY)).toMatchObject([{ verdict: 'refused' }])
    expect(await biller.forget([{ key }], WHY)).toMatchObject([{ verdict: 'decided' }])
    // What that version has logged does not say of which scope it is: everybody is shown it.
    expect((await mailer.audit({ limit: 10 })).entries).toMatchObject([{ by: 'alice' }])
  })

  it('keep nothing more for a message that is done, and 9 characters while it is under way', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item, { scope: MAILER })
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
