import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, liveSignals, messageId } from '../../../../src/index.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../../../src/memory/index.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES } from '../../../kit/rig.ts'

afterEach(endRigs)

const WHY = { by: 'kim', reason: 'the provider is being mended' }

describe.each(STYLES)('a consumer that a person pauses ($strategy, $handler)', (style) => {
  it('begins nothing, ends what runs, and goes on when it is resumed', async () => {
    const running = gate()
    const rig = await startRig({
      style,
      concurrency: 1,
      transactions: 1,
      batchSize: 1,
      effect: async (work) => {
        if (work.id === 'a') await running.opened
        await work.apply()
      },
    })
    await rig.deliver('a', 'b', 'c')
    expect(rig.started).toEqual(['a'])
    rig.running.pause(WHY)
    expect(rig.source.calls.at(-1)).toBe('pause')
    expect(rig.running.health()).toMatchObject({
      live: true,
      ready: false,
      state: 'paused',
      checks: { source: 'paused by kim: the provider is being mended' },
    })
    running.open()
    await turns()
    await rig.deliver('d')
    expect([rig.started, rig.world.effects, rig.outcomes()]).toEqual([['a'], ['a'], ['handled']])
    rig.running.resume({ by: 'kim' })
    await turns()
    expect(rig.world.effects).toEqual(['a', 'b', 'c', 'd'])
    expect(rig.running.health()).toMatchObject({ ready: true, state: 'running' })
    expect(rig.source.calls.at(-1)).toBe('resume')
    expect(rig.events.filter(({ type }) => type === 'paused' || type === 'resumed')).toMatchObject([
      { type: 'paused', ...WHY },
      { type: 'resumed', by: 'kim' },
    ])
  })

  it('keeps the lease of what runs, is never stalled, and is paused once', async () => {
    const running = gate()
    const rig = await startRig({
      style,
      leaseMs: 1_000,
      handlerTimeoutMs: 60_000,
      effect: async (work) => {
        await running.opened
        await work.apply()
      },
    })
    await rig.deliver('a')
    rig.running.pause()
    rig.running.pause(WHY)
    await rig.clock.advance(30_000)
    running.open()
    await turns()
    expect(rig.outcomes()).toEqual(['handled'])
    await rig.deliver('b')
    await rig.clock.advance(600_000)
    expect(rig.running.health()).toMatchObject({ live: true, state: 'paused', checks: { source: 'paused' } })
    expect([rig.count('stalled'), rig.count('paused')]).toEqual([0, 1])
    rig.running.resume()
    await turns()
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(rig.world.effects).toEqual(['a', 'b'])
  })

  it('tries nothing again until it is resumed', async () => {
    let failures = 0
    const rig = await startRig({
      style,
      backoff: { initialMs: 1_000, maxMs: 1_000 },
      effect: (work) => (failures++ === 0 ? Promise.reject(new Error('once')) : work.apply()),
    })
    await rig.deliver('a')
    const before = rig.started.length
    rig.running.pause()
    await rig.clock.advance(60_000)
    expect(rig.started).toHaveLength(before)
    rig.running.resume()
    await rig.clock.advance(2_000)
    expect(rig.world.effects).toEqual(['a'])
  })

  it('stops as any other', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    rig.running.pause()
    await rig.deliver('a')
    await rig.running.stop()
    rig.running.pause()
    rig.running.resume()
    expect([rig.running.state, rig.outcomes(), rig.count('resumed')]).toEqual(['stopped', ['handed-back'], 0])
  })
})

describe('a person who pauses', () => {
  it.each([[{ by: '' }], [{ reason: ' ' }], [{ by: 'k'.repeat(201) }], [{ reason: 7 as unknown as string }]])(
    'is refused %j',
    async (why) => {
      const rig = await startRig({ effect: (work) => work.apply() })
      expect(() => rig.running.pause(why)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
      expect(rig.running.state).toBe('running')
    },
  )

  it('holds a consumer on the broker in memory, by live signals too, also while it starts', async () => {
    const broker = new MemoryBroker()
    const live = liveSignals()
    const handled: string[] = []
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header('id'),
      store: memoryStore(),
      observe: live,
      handle: ({ message }) => void handled.push(String(message.headers['id'])),
    })
    await using running = runMemory(broker, consumer, { topic: 'sms', group: 'g' })
    running.pause(WHY)
    await running.ready()
    broker.publish('sms', { value: Buffer.from('1'), headers: { id: 'a' } })
    await turns()
    expect([handled, running.state]).toEqual([[], 'paused'])
    expect(live.snapshot().consumers[0]?.events.map(({ event, detail }) => [event, detail])).toContainEqual([
      'paused',
      'kim: the provider is being mended',
    ])
    for (const control of live.controlsOf('sms')) control.resume()
    await broker.drained('sms', 'g')
    expect(handled).toEqual(['a'])
    await running.stop()
    expect(live.controlsOf('sms')).toEqual([])
  })
})
