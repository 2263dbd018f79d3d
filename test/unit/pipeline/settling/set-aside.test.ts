import { afterEach, describe, expect, it } from '@jest/globals'
import { TerminalError } from '../../../../src/foundation/errors.ts'
import { endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'

afterEach(endRigs)

const forever = (): Promise<void> => new Promise(() => {})
const poison = (): never => {
  throw new TerminalError('broken')
}

describe.each(STYLES)('a message that is set aside ($strategy, $handler)', (style) => {
  it('is dead-lettered again when its given-up record is met, then settled; no handler runs', async () => {
    const rig = await startRig({ style, effect: poison })
    await rig.deliver('a')
    const [again] = await rig.deliver('a')
    expect(rig.started).toEqual(['a'])
    expect(rig.source.deadLetters.map(({ reason }) => reason)).toEqual(['handler-failed', 'handler-failed'])
    expect(rig.source.deadLetters[1]).toMatchObject({ parked: false })
    expect(again?.settled).toBe(1)
    expect(rig.outcomes()).toEqual(['dead-lettered', 'dead-lettered'])
  })

  it('stays unsettled until its dead letter is confirmed, however often that takes', async () => {
    const rig = await startRig({ style, effect: poison })
    rig.source.publishFailures = 3
    const [delivery] = await rig.deliver('a')
    expect(rig.journal).toEqual(['record given-up'])
    expect(delivery?.settled).toBe(0)
    await rig.clock.advance(10_000)
    expect(rig.journal).toEqual(['record given-up', 'dead letter handler-failed', 'settle'])
    expect(rig.count('publish-failed')).toBe(3)
  })

  it('holds its lane and nothing else while the dead-letter place fails', async () => {
    const rig = await startRig({
      style,
      concurrency: 2,
      transactions: 2,
      effect: (work) => (work.id.startsWith('bad') ? poison() : work.apply()),
    })
    const confirming = gate()
    rig.source.publishHeld = confirming.opened
    const bad = ['bad1', 'bad2', 'bad3', 'bad4', 'bad5']
    await rig.deliver(...bad.map((id) => ({ id, lane: id })), { id: 'behind', lane: 'bad1' })
    await rig.deliver('a', 'b')
    expect(rig.world.effects).toEqual(['a', 'b'])
    await rig.clock.advance(120_000)
    expect(rig.store.calls('renew').length).toBe(0)
    confirming.open()
    await rig.clock.advance(0)
    expect(rig.world.effects).toEqual(['a', 'b', 'behind'])
    expect(rig.source.deadLetters.length).toBe(5)
  })

  it('waits for its record through an outage of the store, and publishes nothing before', async () => {
    const rig = await startRig({ style, effect: poison })
    rig.store.script('setAside', 'lose-request', 'lose-reply')
    await rig.deliver('a')
    expect(rig.source.deadLetters).toEqual([])
    await rig.clock.advance(2_000)
    expect(rig.journal.slice(-2)).toEqual(['dead letter handler-failed', 'settle'])
    expect(rig.source.deadLetters.length).toBe(1)
  })

  it('joins a redelivery that comes while its dead letter is not confirmed', async () => {
    const rig = await startRig({ style, effect: poison })
    const confirming = gate()
    rig.source.publishHeld = confirming.opened
    const [delivery] = await rig.deliver('a')
    const [again] = rig.source.redeliver(...(delivery === undefined ? [] : [delivery]))
    confirming.open()
    await rig.clock.advance(0)
    expect(rig.source.deadLetters.length).toBe(1)
    expect([delivery?.settled, again?.settled]).toEqual([1, 1])
  })
})

describe('a message that is set aside', () => {
  it('keeps being parked when its parked record is met [T48]', async () => {
    const world = new World()
    const first = await startRig({ world, onInDoubt: 'park', handlerTimeoutMs: 1_000, graceMs: 1_000, effect: forever })
    await first.deliver('a')
    await first.clock.advance(3_000)
    const second = await startRig({ world, effect: forever })
    await second.deliver('a')
    expect(second.started).toEqual([])
    expect(second.source.deadLetters).toMatchObject([
      { parked: true, reason: 'in-doubt', detail: expect.stringMatching('did not end when aborted'), attempts: 1 },
    ])
    expect(second.outcomes()).toEqual(['parked'])
  })

  it('is not published when the store refuses: another owner has it, and its verdict is followed', async () => {
    const world = new World()
    const held = gate()
    const slow = await startRig({ world, leaseMs: 1_000, effect: () => held.opened.then(poison) })
    await slow.deliver('a')
    // The process stands still past its lease; another one takes over and succeeds.
    slow.clock.skip(5_000)
    const other = await startRig({ world, effect: (work) => work.apply() })
    await other.deliver('a')
    expect(other.outcomes()).toEqual(['handled'])
    held.open()
    await slow.clock.advance(1_000)
    expect(slow.journal).toEqual(['record refused', 'settle'])
    expect(slow.source.deadLetters).toEqual([])
    expect(slow.outcomes()).toEqual(['duplicate'])
  })
})
