import { afterEach, describe, expect, it } from '@jest/globals'
import type { RetryCopy } from '../../../../src/ports/source.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

const DELAY_MS = 60_000

async function start(options: RigOptions, delays: readonly number[] = [DELAY_MS]): Promise<Rig> {
  const rig = await startRig(options)
  rig.source.retryDelayMs = (attempts) => delays[Math.min(attempts, delays.length) - 1]
  return rig
}

function failing(times: number): RigOptions['effect'] {
  let failures = 0
  return (work) => {
    if (failures++ < times) throw new Error('broken')
    return work.apply()
  }
}

function copyOf(rig: Rig, index = 0): RetryCopy {
  const deadLetter = rig.source.retries[index]
  if (deadLetter === undefined) throw new Error(`no retry copy ${index}, only ${rig.source.retries.length}`)
  return deadLetter
}

describe.each(STYLES)('a message that fails, with a retry place ($strategy, $handler)', (style) => {
  it('is copied there and settled, its lane goes on, and the copy is the same message', async () => {
    const rig = await start({ style, batchSize: 1, effect: failing(1) })
    const [failed, next] = await rig.deliver({ id: 'a', lane: 'one' }, { id: 'b', lane: 'one' })
    expect(rig.outcomes()).toEqual(['failed', 'handled'])
    expect([failed?.settled, next?.settled]).toEqual([1, 1])
    expect(copyOf(rig)).toMatchObject({ attempts: 1, delayMs: DELAY_MS, detail: 'broken', errorClass: 'Error' })
    expect(copyOf(rig).message).toBe(failed?.message)
    expect(rig.events).toContainEqual(expect.objectContaining({ type: 'attempt-failed', retryInMs: DELAY_MS }))

    await rig.clock.advance(DELAY_MS)
    rig.source.deliverCopy(copyOf(rig))
    await turns()
    expect(rig.world.effects).toEqual(['b', 'a'])
    expect(rig.started).toEqual(['a', 'b', 'a'])
    expect(rig.source.deadLetters).toEqual([])
  })

  it('goes from place to place, and is dead-lettered when its attempts are spent', async () => {
    const rig = await start({ style, maxAttempts: 4, effect: failing(10) }, [10, 20])
    await rig.deliver('a')
    for (let copy = 0; copy < 3; copy++) {
      await rig.clock.advance(20)
      rig.source.deliverCopy(copyOf(rig, copy))
      await turns()
    }
    expect(rig.source.retries.map(({ attempts, delayMs }) => [attempts, delayMs])).toEqual([
      [1, 10],
      [2, 20],
      [3, 20],
    ])
    expect(rig.source.deadLetters).toEqual([expect.objectContaining({ reason: 'attempts-spent', attempts: 4 })])
    expect(rig.source.deliveries.map(({ settled }) => settled)).toEqual([1, 1, 1, 1])
  })

  it('waits in its lane where its attempt has no place', async () => {
    const rig = await startRig({ style, effect: failing(1), backoff: { initialMs: 100, maxMs: 100 } })
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(rig.source.retries).toEqual([])
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('stays unsettled until the copy is confirmed, however often that takes', async () => {
    const rig = await start({ style, effect: failing(1) })
    rig.source.publishFailures = 3
    const [delivery] = await rig.deliver('a')
    expect([delivery?.settled, rig.outcomes()]).toEqual([0, []])
    await rig.clock.advance(10_000)
    expect(rig.count('publish-failed')).toBe(3)
    expect([delivery?.settled, rig.outcomes()]).toEqual([1, ['failed']])
  })

  it('is released before its copy is published: the copy never meets its own claim', async () => {
    const world = new World()
    const rig = await start({ style, world, effect: failing(1) })
    const confirming = gate()
    rig.source.publishHeld = confirming.opened
    await rig.deliver('a')
    const elsewhere = await startRig({ style, world, effect: (work) => work.apply() })
    await elsewhere.deliver('a')
    await rig.clock.advance(DELAY_MS)
    expect(elsewhere.outcomes()).toEqual(['handled'])
    confirming.open()
    await turns()
    expect(rig.outcomes()).toEqual(['failed'])
    rig.source.deliverCopy(copyOf(rig))
    await turns()
    expect(rig.outcomes()).toEqual(['failed', 'duplicate'])
    expect(world.effects).toEqual(['a'])
  })

  it('does not swallow its own copy, though that comes before the confirmation [T61]', async () => {
    const rig = await start({ style, effect: failing(1) })
    const confirming = gate()
    rig.source.publishHeld = confirming.opened
    const [original] = await rig.deliver('a')
    if (original === undefined) throw new Error('nothing was delivered')
    const [again] = rig.source.redeliver(original)
    const [early] = rig.source.deliverCopy(original)
    await turns()
    expect(rig.outcomes()).toEqual([])
    confirming.open()
    await rig.clock.advance(DELAY_MS)
    // The original's own redelivery ends with it; the copy is the message from now on.
    expect([original.settled, again?.settled, early?.settled]).toEqual([1, 1, 1])
    expect(rig.outcomes().toSorted()).toEqual(['failed', 'handled', 'joined'])
    expect(rig.world.effects).toEqual(['a'])
  })

  it('is neither copied nor settled when it is not ours any more', async () => {
    const failure = gate()
    const rig = await start({
      style,
      effect: async () => {
        await failure.opened
        throw new Error('broken')
      },
    })
    const deliveries = await rig.deliver('a')
    rig.source.stand('stale', ...deliveries)
    failure.open()
    await turns()
    expect(rig.source.retries).toEqual([])
    expect(rig.outcomes()).toEqual(['handed-back'])
  })

  it('is handed back by a stop that the place does not outlast', async () => {
    const rig = await start({ style, effect: failing(1) })
    rig.source.publishFailures = Number.POSITIVE_INFINITY
    const [delivery] = await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(60_000)
    await stopping
    expect([delivery?.settled, rig.outcomes()]).toEqual([0, ['handed-back']])
  })
})
