import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, runInline, type Message, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { redisHarness } from '../redis/harness.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { REAL_STORES } from '../stores/real-stores.ts'
import { backends } from '../kit/backends.ts'
import { ManualClock, turns } from '../kit/manual-clock.ts'
import { endRigs, startRig, STYLES } from '../kit/rig.ts'
import { server } from '../kit/servers/server.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const closing = closedAfterEach()

afterEach(endRigs)

const DEADLINES = [0, -1, Number.NaN, Number.POSITIVE_INFINITY]

const describeRedis = backends.has('redis') ? describe : describe.skip

// https://github.com/aws-powertools/powertools-lambda-python/issues/8386
describe('powertools-lambda-python#8386: a record in progress without a deadline was taken for one that is over', () => {
  it.each(DEADLINES)('a lease of %s is no lease: nothing starts [T53]', (leaseMs) => {
    const options = { name: 'consumer', store: memoryStore(), handle: () => {}, leaseMs }
    expect(() => defineConsumer(options)).toThrow(/leaseMs: expected a whole number from 1/)
  })

  describeRedis('on Redis', () => {
    it.each(['P|1|1|0|DIGEST|token-000001|', 'P|1|1|0|DIGEST|token-000001', 'P|1|1|0|DIGEST|token-000001|nil'])(
      'a record that lacks its deadline is granted to nobody: %s [T54]',
      async (record) => {
        const harness = await redisHarness((await server('redis')).url)
        closing.push(harness.close)
        const item = newItem()
        await harness.plant(item.key, record.replace('DIGEST', item.digest))
        for (const alone of [false, true]) {
          const answer = await claim(harness.store, item, { alone }).catch((error: unknown) => error)
          expect(answer).not.toHaveProperty('claim')
        }
      },
    )
  })
})

// https://github.com/aws-powertools/powertools-lambda-python/issues/1038
// https://github.com/aws-powertools/powertools-lambda-python/issues/4759
describe('powertools-lambda-python#1038, #4759: a record stayed in progress for ever', () => {
  it('a process that dies leaves a lease that ends, however little was left of it: its message runs again [T55]', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const item = newItem()
    await hold(store, item, { leaseMs: 1 })
    expect(await claim(store, item, { alone: true })).toMatchObject({ verdict: 'busy', leaseLeftMs: 1 })
    await clock.advance(1)
    expect(await claim(store, item, { alone: true })).toMatchObject({ verdict: 'taken-over', attempt: 2 })
  })
})

// https://github.com/Particular/NServiceBus.NHibernate/issues/117
describe('NServiceBus.NHibernate#117: two subscribers of an event shared a table, and one never saw it', () => {
  it.each(REAL_STORES)('each consumer, group and topic handles it, on one %s [T58]', async (_, opening) => {
    const real = await opening()
    closing.push(() => real.close())
    const places = [
      { name: 'billing', group: 'billing', origin: 'orders' },
      { name: 'shipping', group: 'billing', origin: 'orders' },
      { name: 'billing', group: 'replay', origin: 'orders' },
      { name: 'billing', group: 'billing', origin: 'returns' },
    ]
    for (const outcome of ['handled', 'duplicate']) {
      for (const { name, group, origin } of places) {
        expect(await handleOnce(real.store, { name, group, origin })).toBe(outcome)
      }
    }
  })
})

// https://github.com/Particular/NServiceBus/issues/4993
describe.each(STYLES)(
  'NServiceBus#4993: "handle later" was taken for a duplicate, and dropped ($strategy, $handler)',
  (style) => {
    it('what waits on a retry place is the same message, and runs [T60]', async () => {
      const rig = await startRig({
        style,
        effect: (work) => (work.attempt < 3 ? Promise.reject(new Error('later')) : work.apply()),
      })
      rig.source.retryDelayMs = () => 1_000
      await rig.deliver('a')
      for (const copy of [0, 1]) {
        const deadLetter = rig.source.retries[copy]
        if (deadLetter === undefined) throw new Error('expected a copy on the retry place')
        await rig.clock.advance(1_000)
        rig.source.deliverCopy(deadLetter)
        await turns()
      }
      expect(rig.started).toEqual(['a', 'a', 'a'])
      expect(rig.outcomes()).toEqual(['failed', 'failed', 'handled'])
      expect(rig.world.effects).toEqual(['a'])
    })
  },
)

// https://github.com/Particular/NServiceBus/pull/5557
describe.each(STYLES)(
  'NServiceBus, pull request 5557: the ID was stored, and the send failed ($strategy, $handler)',
  (style) => {
    it('a message whose effect failed is not done: nothing is marked, and it runs again [T64]', async () => {
      let sends = 0
      const rig = await startRig({
        style,
        backoff: { initialMs: 10, maxMs: 10 },
        effect: (work) => (++sends === 1 ? Promise.reject(new Error('the send failed')) : work.apply()),
      })
      const [first] = await rig.deliver('a')
      expect([first?.settled, rig.store.calls('mark').length]).toEqual([0, 0])
      await rig.clock.advance(1_000)
      expect(rig.world.effects).toEqual(['a'])
      expect(first?.settled).toBe(1)
    })
  },
)

// https://github.com/MassTransit/MassTransit/issues/3791
describe('MassTransit#3791: a lock that was read was not held', () => {
  it.each(REAL_STORES)('a claim of %s is a write: of many at once one is granted [T65]', async (_, opening) => {
    const real = await opening()
    closing.push(() => real.close())
    const { store } = real
    const item = newItem()
    const answers = await Promise.all(Array.from({ length: 5 }, () => claim(store, item)))
    const granted = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    // Released whatever was found, or an inbox would not close.
    await store.release(granted, { refund: false, doubt: false })
    expect(granted).toHaveLength(1)
  })
})

// https://github.com/JasperFx/wolverine/issues/1708
describe.each(STYLES)('wolverine#1708: the offset was stored before the row ($strategy, $handler)', (style) => {
  it('the mark is durable before the settle, and while it is not, there is none [T75]', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    rig.store.script('mark', 'lose-request')
    const [delivery] = await rig.deliver('a')
    expect([delivery?.settled, rig.journal]).toEqual([0, []])
    await rig.clock.advance(10_000)
    expect(rig.journal).toEqual(['mark marked', 'settle'])
  })
})

// https://github.com/JasperFx/wolverine/issues/3767
describe.each(STYLES)(
  'wolverine#3767: while the store was down a delivery was neither acked nor nacked ($strategy, $handler)',
  (style) => {
    it('deliveries wait for the store, the source pauses, and both go on by themselves [T72]', async () => {
      const rig = await startRig({ style, effect: (work) => work.apply() })
      rig.store.isDown = true
      const deliveries = await rig.deliver('a', 'b')
      await rig.clock.advance(5_000)
      expect([rig.source.isPaused, rig.outcomes(), rig.running.health().ready]).toEqual([true, [], false])
      rig.store.isDown = false
      await rig.clock.advance(10_000)
      expect(rig.source.isPaused).toBe(false)
      expect(deliveries.map(({ settled }) => settled)).toEqual([1, 1])
      expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    })
  },
)

async function handleOnce(
  store: Store,
  { name, group, origin }: Readonly<Record<'name' | 'group' | 'origin', string>>,
): Promise<string> {
  const consumer = defineConsumer({ name, store, id: messageId.header('id'), handle: () => {} })
  await using running = runInline(consumer, { group })
  const message: Message = {
    system: 'rabbitmq',
    destination: origin,
    origin,
    position: '1',
    key: null,
    value: Buffer.from('{}'),
    headers: { id: 'event-1' },
  }
  return (await running.handle(message)).outcome
}
