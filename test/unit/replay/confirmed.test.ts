import { describe, expect, it } from '@jest/globals'
import { redrive, type RedriveOptions, type RedriveResult } from '../../../src/replay/index.ts'
import { adopted, ids, WHY, World } from './world.ts'

function redriven(world: World, options: RedriveOptions): Promise<RedriveResult> {
  return redrive(world.consumer, world.subscription, options).result
}

async function failed(world: World, some: readonly string[]): Promise<void> {
  for (const id of some) world.failing.add(id)
  world.publish(some)
  await world.live()
  world.failing.clear()
}

const ACT = { ...WHY, dryRun: false }

describe('a redrive that a person confirmed', () => {
  it('sends back the dead letters of the preview, and no others', async () => {
    const world = await adopted()
    await failed(world, ids(3, 'bad'))
    const { foreseen, totals } = await redriven(world, {})
    expect(totals.redriven).toBe(3)
    await failed(world, ids(20, 'later'))
    await expect(redriven(world, { ...ACT, foreseen })).resolves.toMatchObject({ looked: 3, totals: { redriven: 3 } })
    await world.live()
    expect(world.effects.filter((id) => /bad|later/.test(id)).toSorted()).toEqual(ids(3, 'bad'))
  })

  it('leaves what would not have been sent back then', async () => {
    const world = await adopted()
    await failed(world, ids(4, 'bad'))
    const { foreseen } = await redriven(world, { ids: ['bad1'] })
    await expect(redriven(world, { ...ACT, foreseen })).resolves.toMatchObject({
      totals: { redriven: 1, unconfirmed: 3 },
    })
    const nothing = await redriven(world, { until: 1 })
    await expect(redriven(world, { ...ACT, foreseen: nothing.foreseen })).resolves.toMatchObject({ looked: 0 })
  })

  it('refuses the preview of another consumer, and what is none', async () => {
    const world = await adopted()
    await failed(world, ['bad'])
    const { foreseen, ...rest } = await redriven(world, {})
    expect(JSON.parse(JSON.stringify({ foreseen }))).toEqual({})
    const others = { ...world.subscription, group: 'others' }
    await expect(redrive(world.consumer, others, { ...ACT, foreseen }).result).rejects.toThrow('foreseen: expected')
    const forged = rest as unknown as RedriveResult['foreseen']
    await expect(redriven(world, { ...ACT, foreseen: forged })).rejects.toThrow('foreseen: expected')
  })
})

describe('a message that fails after each redrive', () => {
  it('is sent back as often as it may be, whichever of its dead letters lies first', async () => {
    const world = await adopted()
    await failed(world, ['bad'])
    const sent: number[] = []
    for (const from of ['a preview', 'a preview', 'a preview', 'nothing'] as const) {
      const { foreseen } = await redriven(world, {})
      const how = from === 'nothing' ? ACT : { ...ACT, foreseen }
      sent.push((await redriven(world, how)).totals.redriven)
      world.failing.add('bad')
      await world.live()
      world.failing.clear()
    }
    expect(sent).toEqual([1, 1, 0, 0])
    await expect(redriven(world, {})).resolves.toMatchObject({ looked: 3, totals: { looped: 3 } })
    await expect(redriven(world, { maxReplays: 3 })).resolves.toMatchObject({ totals: { redriven: 1, repeated: 2 } })
    const plan = await world.plan({ from: 'memory:dead-letters' })
    expect([plan.toHandle, plan.buckets.looped.count]).toEqual([0, 3])
    await expect(world.run(plan)).resolves.toMatchObject({ totals: { handled: 0, left: 3 } })
  })
})
