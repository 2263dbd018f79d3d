import { describe, expect, it } from '@jest/globals'
import { withDoneCache, type DoneCacheOptions } from '../../adapters/lru-cache/index.ts'
import { ConfigError, defineConsumer, messageId, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { resultOf } from '../../src/internal.ts'
import { runConsumer } from '../../src/run/run.ts'
import { claim, claimAll, hold, newDigest, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { ManualClock, turns } from '../kit/manual-clock.ts'
import { MemoryInbox } from '../../testing/stores/memory-inbox.ts'
import { RecordingSource } from '../kit/recording-source.ts'
import { scriptedStore, type ScriptedStore } from '../kit/scripted-store.ts'
import { gate } from '../kit/rig.ts'

const WHY = { by: 'test', reason: 'a test', retentionMs: 3_600_000 }

interface Bench {
  readonly clock: ManualClock
  readonly behind: ScriptedStore<never>
  readonly store: Store
  /** Claims that the store was asked for since the last look. */
  readonly asked: () => number
}

function bench(options: Partial<DoneCacheOptions> = {}): Bench {
  const clock = new ManualClock()
  const behind = scriptedStore(memoryStore({ clock }))
  let seen = 0
  const asked = (): number => {
    const before = seen
    seen = behind.calls('claim').reduce((sum, { keys }) => sum + keys.length, 0)
    return seen - before
  }
  return { clock, behind, asked, store: withDoneCache(behind, { maxKeys: 100, clock, ...options }) }
}

/** With the admin of the store, which a scripted one has not. */
function decidedBench(): { readonly clock: ManualClock; readonly plain: Store; readonly store: Store } {
  const clock = new ManualClock()
  const plain = memoryStore({ clock })
  return { clock, plain, store: withDoneCache(plain, { maxKeys: 100, clock }) }
}

describe('a cache of what is done', () => {
  it('answers for a mark without the store, with its result', async () => {
    const { store, asked } = bench()
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    expect(await store.mark([claimed], [resultOf({ id: 7 })])).toEqual(['marked'])
    asked()
    expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: resultOf({ id: 7 }) })
    expect(await claim(store, item, { alone: true })).toMatchObject({ verdict: 'done', result: resultOf({ id: 7 }) })
    expect(asked()).toBe(0)
  })

  it('answers for what the store said is done', async () => {
    const { store, behind, asked } = bench()
    const item = newItem()
    await behind.mark([(await hold(behind, item)).claim], [resultOf(7)])
    await claim(store, item)
    asked()
    expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: resultOf(7) })
    expect(asked()).toBe(0)
  })

  it('asks for the rest of a batch, and keeps its order', async () => {
    const { store, asked } = bench()
    const [done, fresh, also, late] = [newItem(), newItem(), newItem(), newItem()]
    for (const item of [done, also]) await store.mark([(await hold(store, item)).claim])
    asked()
    const answers = await claimAll(store, [fresh, done, late, also])
    expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'done', 'claimed', 'done'])
    expect(asked()).toBe(2)
  })

  it('learns nothing before a mark is answered, nor from one that is not', async () => {
    const { store, behind, asked } = bench()
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    const answered = gate()
    behind.script('mark', answered.opened, 'lose-reply')
    const marking = store.mark([claimed])
    await turns()
    asked()
    await claim(behind, item)
    expect(asked()).toBe(1)
    answered.open()
    await marking
    const other = newItem()
    const { claim: lost } = await hold(store, other)
    await expect(store.mark([lost], [resultOf(1)])).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
    asked()
    await claim(store, other)
    expect(asked()).toBe(1)
  })

  it('learns what is kept after a lost reply from the next claim: it may not be what the mark was sent with again', async () => {
    const { store, behind, asked } = bench()
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    behind.script('mark', 'lose-reply')
    await expect(store.mark([claimed], [resultOf(1)])).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
    expect(await store.mark([claimed], [resultOf(2)])).toEqual(['already-marked'])
    asked()
    expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: resultOf(1) })
    expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: resultOf(1) })
    expect(asked()).toBe(1)
  })

  it.each(['release', 'setAside'] as const)('learns nothing from a late mark, after a %s', async (how) => {
    const { store, asked } = bench()
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    if (how === 'release') await store.release([claimed], { refund: false, doubt: false })
    else await store.setAside([claimed], 'given-up', { reason: 'no' })
    expect(await store.mark([claimed])).toEqual(['marked-late'])
    asked()
    await claim(store, item)
    expect(asked()).toBe(1)
  })

  it('learns nothing from a mark that is refused', async () => {
    const { store, clock, asked } = bench()
    const item = newItem()
    const { claim: late } = await hold(store, item, { leaseMs: 10 })
    await clock.advance(10)
    await hold(store, item, { alone: true })
    expect(await store.mark([late])).toEqual(['refused-busy'])
    asked()
    expect((await claim(store, item)).verdict).toBe('busy')
    expect(asked()).toBe(1)
  })

  it('leaves another payload to the store [T92]', async () => {
    const { store, asked } = bench()
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    asked()
    expect((await claim(store, { ...item, digest: newDigest() })).verdict).toBe('conflict')
    expect(asked()).toBe(1)
    expect((await claim(store, item)).verdict).toBe('done')
    expect((await claim(store, { ...item, digest: '' })).verdict).toBe('done')
    expect(asked()).toBe(0)
  })

  it('does not take what was not compared for what was', async () => {
    const { store, behind, asked } = bench()
    const item = newItem()
    await behind.mark([(await hold(behind, item)).claim])
    await claim(store, { ...item, digest: '' })
    asked()
    expect((await claim(store, { ...item, digest: newDigest() })).verdict).toBe('conflict')
    expect(asked()).toBe(1)
  })

  it('asks again after ttlMs, which a hit does not lengthen', async () => {
    const { store, clock, asked } = bench({ ttlMs: 1_000 })
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    asked()
    await clock.advance(600)
    await claim(store, item)
    await clock.advance(400)
    await claim(store, item)
    expect(asked()).toBe(0)
    await clock.advance(1)
    await claim(store, item)
    expect(asked()).toBe(1)
  })

  it('asks again after 60 s where nothing else is said', async () => {
    const { store, clock, asked } = bench()
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    await clock.advance(60_000)
    asked()
    await claim(store, item)
    expect(asked()).toBe(0)
    await clock.advance(1)
    await claim(store, item)
    expect(asked()).toBe(1)
  })

  it('knows nothing for longer than its record is kept', async () => {
    const { store, clock } = bench()
    const item = newItem()
    await store.mark([(await hold(store, item, { leaseMs: 10, retentionMs: 1_000 })).claim])
    await clock.advance(999)
    expect((await claim(store, item)).verdict).toBe('done')
    await clock.advance(1)
    expect((await claim(store, item)).verdict).toBe('claimed')
  })

  it('holds no more than maxKeys keys, the last ones [T145]', async () => {
    const { store, asked } = bench({ maxKeys: 2 })
    const items = [newItem(), newItem(), newItem()]
    for (const item of items) await store.mark([(await hold(store, item)).claim])
    asked()
    await claimAll(store, items)
    expect(asked()).toBe(1)
  })

  it('leaves long results to the store [T146]', async () => {
    const { store, asked } = bench()
    const item = newItem()
    const result = resultOf('x'.repeat(5_000))
    await store.mark([(await hold(store, item)).claim], [result])
    asked()
    expect(await claim(store, item)).toMatchObject({ verdict: 'done', result })
    expect(asked()).toBe(1)
  })

  it('keeps the first result of a mark that is sent again', async () => {
    const { store } = bench()
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    await store.mark([claimed], [resultOf(1)])
    await store.mark([claimed], [resultOf(2)])
    expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: resultOf(1) })
  })

  it('refuses answers of a store that answers too few', async () => {
    const { store, behind } = bench()
    const [done, one, two] = [newItem(), newItem(), newItem()]
    await store.mark([(await hold(store, done)).claim])
    behind.script('claim', 'answer-too-few')
    await expect(claimAll(store, [done, one, two])).rejects.toMatchObject({ code: 'STORE_MISUSED' })
  })
})

describe('a decision of a person, with a cache of what is done,', () => {
  it('is noticed at once in the store that it was made in', async () => {
    const { store } = decidedBench()
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    expect(await store.admin?.forget(SCOPE, [item.key], WHY)).toEqual(['decided'])
    expect((await claim(store, item)).verdict).toBe('claimed')
  })

  it('is not overtaken by an answer that was under way', async () => {
    for (const call of ['claim', 'mark'] as const) {
      const clock = new ManualClock()
      const plain = memoryStore({ clock })
      const scripted = scriptedStore(plain)
      const admin = plain.admin
      if (admin === undefined) throw new Error('expected a store with admin')
      const behind = Object.assign(scripted, { admin })
      const store = withDoneCache(behind, { maxKeys: 100, clock })
      const item = newItem()
      const { claim: claimed } = await hold(plain, item)
      if (call === 'claim') await plain.mark([claimed])
      const answered = gate()
      scripted.script(call, answered.opened)
      const asking = call === 'claim' ? claim(store, item) : store.mark([claimed])
      await turns()
      await store.admin?.forget(SCOPE, [item.key], WHY)
      answered.open()
      await asking
      expect((await claim(store, item)).verdict).toBe('claimed')
    }
  })

  it('of another process is noticed after ttlMs', async () => {
    const { store, plain, clock } = decidedBench()
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    await plain.admin?.forget(SCOPE, [item.key], WHY)
    expect((await claim(store, item)).verdict).toBe('done')
    await clock.advance(60_001)
    expect((await claim(store, item)).verdict).toBe('claimed')
  })

  it('is seen past the cache', async () => {
    const { store } = decidedBench()
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    expect(await store.admin?.peek(SCOPE, [item.key])).toMatchObject([{ state: 'done' }])
    expect((await store.admin?.list(SCOPE, { state: 'done', limit: 1 }))?.records).toHaveLength(1)
    expect(await store.admin?.purge(SCOPE, { retentionMs: 1, limit: 1 })).toEqual({ removed: 0, more: false })
  })
})

describe('a store with a cache in front of it', () => {
  it('answers random calls of three owners and of people as transition() does', async () => {
    const store = withDoneCache(memoryStore(), { maxKeys: 2 })
    await expect(assertLikeTransition(store, { numRuns: 1_000 })).resolves.toBeUndefined()
  })

  it('has what it had before, and nothing else', async () => {
    const plain = scriptedStore(memoryStore())
    expect(withDoneCache(plain, { maxKeys: 1 }).admin).toBeUndefined()
    expect(withDoneCache(plain, { maxKeys: 1 }).checkup).toBeUndefined()
    const finding = { check: 'test', verdict: 'holds', found: '', meaning: '' } as const
    const looked = withDoneCache(Object.assign(plain, { checkup: async () => [finding] }), { maxKeys: 1 })
    expect(await looked.checkup?.()).toEqual([finding])
    expect(withDoneCache(new MemoryInbox(), { maxKeys: 1 }).strategy).toBe('inbox')
  })

  it.each<readonly [string, unknown, Readonly<Record<string, unknown>>, string]>([
    ['no bound', memoryStore(), {}, 'maxKeys: expected a whole number from 1'],
    ['no time', memoryStore(), { maxKeys: 1, ttlMs: 0 }, 'ttlMs: expected a whole number from 1'],
    ['another option', memoryStore(), { maxKeys: 1, maxAge: 5 }, 'maxAge: unknown option'],
    ['no store', undefined, { maxKeys: 1 }, 'store: expected a store'],
    [
      'positions',
      { strategy: 'offsets', claim: () => {} },
      { maxKeys: 1 },
      'store: expected one of strategy lease or inbox',
    ],
  ])('is refused with %s', (_, store, options, problem) => {
    expect(() => withDoneCache(store as Store, options as unknown as DoneCacheOptions)).toThrow(ConfigError)
    expect(() => withDoneCache(store as Store, options as unknown as DoneCacheOptions)).toThrow(problem)
  })

  it('settles duplicates while the store is down', async () => {
    const clock = new ManualClock()
    const behind = scriptedStore(memoryStore({ clock }))
    const source = new RecordingSource()
    let runs = 0
    const consumer = defineConsumer({
      name: 'consumer',
      id: messageId.header('id'),
      store: withDoneCache(behind, { maxKeys: 100, clock }),
      handle: () => ++runs,
    })
    const running = await runConsumer(consumer, { source, publisher: source, clock })
    const [first] = source.deliver({ id: 'a' })
    await turns()
    behind.isDown = true
    const [second] = source.deliver({ id: 'a' })
    await turns()
    expect([first?.settled, second?.settled, runs]).toEqual([1, 1, 1])
    await running.stop({ deadlineMs: 0 })
  })
})
