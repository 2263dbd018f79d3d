import { afterEach, describe, expect, it } from '@jest/globals'
import type { ObserverEvent } from '../../../../src/ports/observer.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig } from '../../../kit/rig.ts'

afterEach(endRigs)

type Ended = Extract<ObserverEvent, { type: 'delivery' }>

const ended = (rig: Rig): readonly Ended[] => rig.events.filter((event) => event.type === 'delivery')
const withoutRun = (rig: Rig): number | undefined => rig.running.health().counts['settled-without-run']

describe('what is handed back', () => {
  it('says that its partition has moved', async () => {
    const rig = await startRig({ concurrency: 1, effect: () => new Promise(() => {}) })
    const [, waiting] = await rig.deliver('a', 'b')
    if (waiting === undefined) throw new Error('no delivery')
    rig.source.stand('lost', waiting)
    expect(ended(rig)).toMatchObject([{ outcome: 'handed-back', why: 'moved' }])
  })

  it('says that the consumer has stopped', async () => {
    const rig = await startRig({ concurrency: 1, effect: () => new Promise(() => {}) })
    await rig.deliver('a', 'b')
    const stopping = rig.running.stop({ deadlineMs: 0 })
    await rig.clock.advance(60_000)
    await stopping
    expect(ended(rig).map(({ outcome, why }) => [outcome, why])).toEqual([
      ['handed-back', 'stop'],
      ['handed-back', 'stop'],
    ])
  })

  it('says that another owner is busy with it', async () => {
    const world = new World()
    const first = await startRig({ world, effect: () => new Promise(() => {}) })
    await first.deliver('a')
    const second = await startRig({ world, effect: () => {} })
    second.source.retryDelayMs = () => 1_000
    second.source.busyWaitMs = 0
    await second.deliver('a')
    expect(ended(second)).toMatchObject([{ outcome: 'handed-back', why: 'busy', copied: true }])
  })
})

describe('what was settled without a run', () => {
  it('is what was done before, and what has joined a message that was handled', async () => {
    const held = gate()
    const rig = await startRig({ effect: (work) => held.opened.then(work.apply) })
    await rig.deliver('a', 'a', 'a')
    held.open()
    await rig.clock.advance(0)
    await rig.deliver('a')
    expect(ended(rig).map(({ outcome, endedAs }) => [outcome, endedAs])).toEqual([
      ['handled', undefined],
      ['joined', 'handled'],
      ['joined', 'handled'],
      ['duplicate', undefined],
    ])
    expect(withoutRun(rig)).toBe(3)
  })

  it('is not what has joined a message that was dead-lettered, nor what comes again', async () => {
    const held = gate()
    const rig = await startRig({
      maxAttempts: 1,
      effect: () => held.opened.then(() => Promise.reject(new Error('no'))),
    })
    await rig.deliver('a', 'a')
    held.open()
    await rig.clock.advance(0)
    expect(ended(rig)).toMatchObject([{ outcome: 'dead-lettered' }, { outcome: 'joined', endedAs: 'dead-lettered' }])
    const other = await startRig({ effect: (work) => work.apply() })
    await other.deliver('b')
    const [again] = await other.deliver('b')
    expect(again?.settled).toBe(1)
    expect([withoutRun(rig), withoutRun(other)]).toEqual([0, 1])
  })
})

describe.each(STYLES)('a duplicate ($strategy, $handler)', (style) => {
  it('says when its message was marked, however late it comes; a delivery that has joined the run does not', async () => {
    const held = gate()
    const rig = await startRig({ style, effect: (work) => held.opened.then(work.apply) })
    await rig.deliver('a', 'a')
    await rig.clock.advance(2_000)
    held.open()
    await rig.clock.advance(0)
    const markedAt = rig.clock.now()
    await rig.clock.advance(7_000)
    await rig.deliver('a')
    expect(ended(rig).map(({ outcome, since }) => [outcome, since])).toEqual([
      ['handled', undefined],
      ['joined', undefined],
      ['duplicate', markedAt],
    ])
  })
})
