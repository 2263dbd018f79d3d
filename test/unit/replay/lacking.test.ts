import { describe, expect, it } from '@jest/globals'
import { redrive, type RedriveOptions, type RedriveResult } from '../../../src/replay/index.ts'
import { adopted, ids, WHY, World } from './world.ts'

const DAY_MS = 86_400_000
const january = { since: Date.UTC(2025, 0, 1), until: Date.UTC(2025, 0, 2) }

function undated(world: World, names: readonly string[]): void {
  for (const id of names) {
    world.broker.publish('sms', { value: Buffer.from('{"to":"+49"}'), key: Buffer.from(id), headers: { id } })
  }
}

async function handled(): Promise<World> {
  const world = await adopted()
  undated(world, ids(5, 'undated'))
  await world.live()
  world.effects.length = 0
  return world
}

async function letters(): Promise<World> {
  const world = await adopted()
  for (const id of ['new0', 'new1', 'u0']) world.failing.add(id)
  undated(world, ['u0'])
  await world.live()
  world.failing.clear()
  for (const [at, letter] of world.broker.deadLetters.entries()) {
    // As another program makes them: they tell no time, and no reason.
    if (String(letter.message.headers['id']).startsWith('u')) {
      Object.assign(world.broker.deadLetters[at] ?? {}, { setAsideAt: undefined, reason: undefined })
    }
  }
  return world
}

function redriven(world: World, options: RedriveOptions): Promise<RedriveResult> {
  return redrive(world.consumer, world.subscription, { ...WHY, dryRun: false, ...options }).result
}

describe('a message that lacks what a selection asks for', () => {
  it('does not happen again for a range of time, unless somebody takes it', async () => {
    const world = await handled()
    const plan = await world.plan({ ...january, rules: { again: true } })
    expect([plan.toHandle, plan.buckets.undated.count, plan.buckets.filtered.count]).toEqual([0, 5, 16])
    await expect(world.run(plan)).resolves.toMatchObject({ totals: { handled: 0, skipped: 21 } })
    expect(world.effects).toEqual([])
    for (const one of [{ since: january.since }, { until: january.until }]) {
      await expect(world.plan(one)).resolves.toMatchObject({ buckets: { undated: { count: 5 } } })
    }
    const taken = await world.plan({ ...january, include: ['undated'], rules: { again: true } })
    expect([taken.toHandle, taken.buckets.done.count]).toEqual([5, 5])
  })

  it('is undated if its time lies in the future', async () => {
    const world = await adopted()
    world.publish(['ahead'], Date.now() + DAY_MS)
    const plan = await world.plan({ since: Date.now() - DAY_MS })
    expect([plan.toHandle, plan.buckets.undated.count]).toEqual([5, 1])
  })

  it('satisfies no condition on a field, also not that it differs', async () => {
    const world = await adopted()
    world.broker.publish('sms', { value: Buffer.from('{}'), headers: { id: 'bare' }, timestamp: Date.now() })
    world.broker.publish('sms', { value: Buffer.from('no json'), headers: { id: 'torn' }, timestamp: Date.now() })
    const where = ['$message.payload#/to!=+49new0']
    const plan = await world.plan({ where })
    expect([plan.toHandle, plan.buckets['no-field'].count, plan.buckets.filtered.count]).toEqual([4, 2, 1])
    await expect(world.plan({ where, include: ['no-field'] })).resolves.toMatchObject({ toHandle: 6 })
    const mixed = await world.plan({ where: [...where, '$message.header#/other=new1'] })
    expect([mixed.toHandle, mixed.buckets['no-field'].count]).toEqual([1, 2])
  })

  it('has no reason if it does not say that it is a dead letter', async () => {
    const world = await adopted()
    const plan = await world.plan({ reasons: ['handler-failed'] })
    expect([plan.toHandle, plan.buckets['no-reason'].count]).toEqual([0, 16])
  })

  it('is counted apart from the different values of a field', async () => {
    const world = await adopted()
    world.broker.publish('sms', { value: Buffer.from('{}'), headers: { id: 'bare' }, timestamp: Date.now() })
    await expect(world.plan({ groupBy: '$message.payload#/to' })).resolves.toMatchObject({
      distinct: { count: 5, without: 1 },
    })
  })

  it('was replayed too often if the count in its header is none', async () => {
    const world = await adopted()
    const headers = { id: 'forged', 'consume-once-replay-count': 'many' }
    world.broker.publish('sms', { value: Buffer.from('{}'), headers, timestamp: Date.now() })
    await expect(world.plan()).resolves.toMatchObject({ toHandle: 5, buckets: { looped: { count: 1 } } })
  })

  it('is refused as an option with another name', async () => {
    const include = ['undatet'] as unknown as ['undated']
    await expect(new World().plan({ include })).rejects.toThrow('include')
    const world = new World()
    await expect(redrive(world.consumer, world.subscription, { include }).result).rejects.toThrow('include')
  })
})

describe('a dead letter that lacks what a redrive asks for', () => {
  it('stays where it is, unless somebody takes it', async () => {
    const world = await letters()
    await expect(redriven(world, january)).resolves.toMatchObject({ totals: { redriven: 0, undated: 1, filtered: 2 } })
    await expect(redriven(world, { reasons: ['attempts-spent'] })).resolves.toMatchObject({
      totals: { redriven: 0, 'no-reason': 1 },
    })
    await expect(redriven(world, { where: ['$message.header#/other!=x'] })).resolves.toMatchObject({
      totals: { redriven: 2, 'no-field': 1 },
    })
    await expect(redriven(world, { ...january, include: ['undated'] })).resolves.toMatchObject({
      totals: { redriven: 1 },
    })
  })
})
