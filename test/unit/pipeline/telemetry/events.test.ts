import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer } from '../../../../src/consumer/define-consumer.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import type { ObserverEvent } from '../../../../src/ports/observer.ts'
import { runConsumer } from '../../../../src/run/run.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { RecordingSource } from '../../../kit/recording-source.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig } from '../../../kit/rig.ts'

afterEach(endRigs)

type EventOf<Type extends ObserverEvent['type']> = Extract<ObserverEvent, { type: Type }>

function eventsOf<Type extends ObserverEvent['type']>({ events }: Rig, type: Type): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

function after({ clock }: World, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}

describe.each(STYLES)('what an observer gets ($strategy, $handler)', (style) => {
  it('has the duration of each step of a message', async () => {
    const world = new World()
    const rig = await startRig({
      style,
      world,
      effect: async (work) => {
        await after(world, 40)
        await work.apply()
      },
    })
    rig.store.script('claim', after(world, 7))
    rig.store.script('mark', after(world, 56))
    await rig.deliver({ id: 'a', timestamp: rig.clock.now() - 500 })
    for (const ms of [7, 40, 9]) await rig.clock.advance(ms)
    expect(eventsOf(rig, 'delivery')).toMatchObject([
      {
        consumer: 'consumer',
        outcome: 'handled',
        durations: { waitMs: 0, claimMs: 7, handlerMs: 40, markMs: 9, settleMs: 0, totalMs: 56 },
        endToEndMs: 556,
      },
    ])
    expect(eventsOf(rig, 'handler-run')).toMatchObject([{ result: 'handled', count: 1, durationMs: 40 }])
    expect(eventsOf(rig, 'store-call')).toMatchObject([
      { operation: 'claim', count: 1, durationMs: 7 },
      { operation: 'mark', count: 1, durationMs: 9 },
    ])
  })

  it('has no steps that a message did not come to, and no age without a timestamp', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver('a')
    await rig.deliver('a')
    const [, duplicate] = eventsOf(rig, 'delivery')
    expect(duplicate).toMatchObject({ outcome: 'duplicate', endToEndMs: undefined })
    expect(duplicate?.durations).toMatchObject({ claimMs: 0, handlerMs: undefined, markMs: undefined, totalMs: 0 })
  })

  it('says 0 for a timestamp in the future', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver({ id: 'a', timestamp: rig.clock.now() + 5_000 })
    expect(eventsOf(rig, 'delivery')).toMatchObject([{ endToEndMs: 0 }])
  })

  it('has the time that the copy of a message took', async () => {
    const rig = await startRig({ style, maxAttempts: 1, effect: () => Promise.reject(new Error('broken')) })
    const confirmed = gate()
    rig.source.publishHeld = confirmed.opened
    await rig.deliver('a')
    await rig.clock.advance(25)
    confirmed.open()
    await turns()
    expect(eventsOf(rig, 'delivery')).toMatchObject([{ outcome: 'dead-lettered', durations: { settleMs: 25 } }])
    expect(eventsOf(rig, 'handler-run')).toMatchObject([{ result: 'failed' }])
  })

  it('has each call of the store that failed, with its error', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    const error = new Error('away')
    rig.store.script('claim', error)
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    const calls = eventsOf(rig, 'store-call').map((event) => [event.operation, event.error])
    expect(calls).toEqual([
      ['claim', error],
      ['claim', undefined],
      ['mark', undefined],
    ])
  })
})

describe('observers', () => {
  it('are several, each told of everything, whatever the others do', async () => {
    const told: string[][] = [[], []]
    const observe = [
      (event: ObserverEvent): void => {
        told[0]?.push(event.type)
        throw new Error('a mistake of the user')
      },
      (event: ObserverEvent): void => void told[1]?.push(event.type),
    ]
    const source = new RecordingSource([])
    const clock = new ManualClock()
    const consumer = defineConsumer({ name: 'c', store: memoryStore({ clock }), handle: () => {}, observe })
    const running = await runConsumer(consumer, { source, publisher: source, clock })
    source.deliver({ id: 'a' })
    await turns()
    await running.stop()
    expect(told[0]).toEqual(told[1])
    expect(told[0]?.at(0)).toBe('started')
    expect(told[0]?.at(-1)).toBe('stopped')
  })

  it('learn at the start how to read gauges', async () => {
    const events: ObserverEvent[] = []
    const source = new RecordingSource([])
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const observe = (event: ObserverEvent): void => void events.push(event)
    const consumer = defineConsumer({ name: 'c', store, handle: () => {}, observe, retentionMs: 86_400_000 })
    const running = await runConsumer(consumer, { source, publisher: source, clock })
    const [started] = events
    if (started?.type !== 'started') throw new Error('expected started first')
    expect(started).toMatchObject({ consumer: 'c', group: source.group, store, retentionMs: 86_400_000 })
    expect(started.health()).toEqual(running.health())
    await running.stop()
    expect(started.health().state).toBe('stopped')
  })

  it.each([
    ['a list with something else', ['loud'], 'observe[0]: expected a function'],
    ['something else', 'loud', 'observe: expected a function'],
  ])('are refused if they are %s', (_what, observe, told) => {
    const options = { name: 'c', store: memoryStore(), handle: () => {}, observe: observe as unknown as () => void }
    expect(() => defineConsumer(options)).toThrow(told)
  })
})
