import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { memoryJournal, replaysOf, runReplay } from '../../../src/replay/index.ts'
import { ReplayedConsumer } from '../../../src/replay/place.ts'
import { eventually } from '../../kit/eventually.ts'
import { adopted, entries, ids, WHY, World } from './world.ts'

function placeOf({ consumer, subscription }: World): ReplayedConsumer {
  return new ReplayedConsumer(consumer, subscription)
}

function fail(): never {
  throw new Error('expected a store with replays')
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

describe('a plan', () => {
  it('sorts messages into buckets, and changes nothing', async () => {
    const world = await adopted()
    const plan = await world.plan({ groupBy: '$message.payload#/to' })
    expect([plan.total, plan.toHandle]).toEqual([16, 5])
    expect([plan.buckets.done.count, plan.buckets.fresh.count, plan.buckets.unknown.count]).toEqual([11, 5, 0])
    expect(plan.buckets.fresh.samples).toHaveLength(5)
    expect(plan.distinct).toEqual({ field: '$message.payload#/to', count: 5, isAtLeast: false, without: 0 })
    expect(plan.histogram.bins.reduce((sum, { counts }) => sum + (counts.done ?? 0), 0)).toBe(11)
    expect(JSON.stringify(plan)).not.toContain('+49')
    expect(world.effects).toHaveLength(10)
    await expect(world.plan()).resolves.toMatchObject({ toHandle: 5 })
  })

  it('says how many of the messages to handle are copies of others, as a run finds', async () => {
    const world = await adopted()
    world.publish(['twice', 'once', 'twice', 'twice'])
    const plan = await world.plan()
    expect(plan.toHandle).toBe(9)
    expect(plan.warnings).toEqual([
      '2 of the messages to handle are further copies of others: a run handles 7, and finds these done.',
    ])
    const { totals } = await world.run(plan, { journal: memoryJournal() })
    expect(totals).toMatchObject({ handled: 7 })
    await expect(world.plan()).resolves.toMatchObject({ toHandle: 0, warnings: [] })
  })

  it('calls unknown what is older than the first record of the consumer, and what lies before such a message', async () => {
    const world = new World()
    world.publish(['a'])
    await world.live()
    world.publish(['b'])
    // The clock of this producer is a day behind: who knows when b arrived.
    world.broker.publish('sms', {
      value: null,
      key: Buffer.from('b'),
      headers: { id: 'c' },
      timestamp: Date.now() - 86_400_000,
    })
    const plan = await world.plan()
    expect([plan.buckets.unknown.count, plan.buckets.fresh.count]).toEqual([2, 0])
    await expect(world.run(plan)).rejects.toMatchObject({ code: 'REPLAY_REFUSED' })
    expect(world.effects).toEqual(['a'])
  })

  it('calls everything unknown for a consumer that the store does not know', async () => {
    const world = new World()
    world.publish(ids(3))
    await expect(world.plan()).resolves.toMatchObject({ buckets: { unknown: { count: 3 } } })
  })

  it('takes a timestamp in the future for a wrong clock', async () => {
    const world = await adopted()
    world.broker.publish('sms', { value: null, headers: { id: 'ahead' }, timestamp: Date.now() + 86_400_000 })
    await expect(world.plan()).resolves.toMatchObject({ buckets: { unknown: { count: 1 } } })
  })

  it('limits itself to IDs, conditions and times', async () => {
    const world = await adopted()
    const some = await world.plan({ ids: ['new1', 'm1'], where: ['$message.payload#/to^=+49new'] })
    expect([some.toHandle, some.buckets.filtered.count]).toEqual([1, 15])
    expect(some.ids).toEqual({ asked: 2, found: 2, notFound: [], withoutId: 0 })
    world.broker.publish('sms', { value: null, headers: {}, timestamp: Date.now() })
    const others = await world.plan({ ids: ['new1', 'new1 ', 'm99'] })
    expect(others.ids).toEqual({ asked: 3, found: 1, notFound: ['new1 ', 'm99'], withoutId: 1 })
    await expect(world.plan({ until: 1 })).resolves.toMatchObject({ toHandle: 0 })
  })

  it.each([
    ['where[0]: expected', { where: ['nonsense'] }],
    ['ids: expected a list of 1 to 20000, of message IDs, got none', { ids: [] }],
    ['ids: expected a list of 1 to 20000, of message IDs, got a list of 20001', { ids: ids(20_001) }],
    ['ids: expected at most 600000 bytes', { ids: ids(2_000, 'x'.repeat(400)) }],
    ['until: expected a time after since', { since: 2, until: 1 }],
    ['from: expected one of memory:', { from: 'sms' }],
    ['expected a topic', { from: 'memory:other' }],
    ['groupBy: expected', { groupBy: 'to' }],
    ['reasons[0]: expected "no-id", "undecodable"', { reasons: ['given-up'] }],
    ['idz: unknown option', { idz: ['a'], lookAtMost: 1 }],
    ['rules.agian: unknown option; expected one of again, givenUp', { rules: { agian: true, again: true } }],
  ])('refuses options: %s', async (problem, options) => {
    await expect(new World().plan(options)).rejects.toThrow(problem)
  })
})

describe('a run', () => {
  it('handles what the plan allows, once, and accounts for every message once', async () => {
    const world = await adopted()
    const journal = memoryJournal()
    const result = await world.run(await world.plan(), { journal })
    expect(result).toMatchObject({ status: 'finished', totals: { handled: 5, 'done-before': 11 } })
    expect(world.effects.toSorted()).toEqual([...ids(10), ...ids(5, 'new')].toSorted())
    expect(world.headers.slice(-5)).toEqual(Array.from({ length: 5 }, () => '1'))
    const places = (await entries(journal)).map(({ part, position }) => `${part}@${position}`)
    expect(new Set(places).size).toBe(16)
    expect(places).toHaveLength(16)
    await world.live()
    expect(world.effects).toHaveLength(15)
  })

  it('refuses a plan that was changed, is of another consumer, is old, or was run', async () => {
    const world = await adopted()
    const plan = await world.plan()
    await expect(world.run({ ...plan, from: 'memory:other' })).rejects.toThrow('was changed by hand')
    const other = { ...world.subscription, group: 'others' }
    const options = { ...WHY, journal: memoryJournal() }
    await expect(runReplay(world.consumer, other, plan, options).result).rejects.toThrow('make a new plan')
    const late = {
      now: () => Date.now() + 25 * 3_600_000,
      monotonic: () => 0,
      after: () => () => {},
      nextTurn: setImmediate,
    }
    await expect(world.run(plan, { clock: late })).rejects.toThrow('25 hours old')
    await world.run(plan)
    await expect(world.run(plan)).rejects.toThrow('is finished since')
    expect(world.effects).toHaveLength(15)
  })

  it('refuses when the ID of the consumer changed, before it handles anything', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const changed = defineConsumer({ name: 'sms', id: () => 'another', store: world.store, handle: () => {} })
    const running = runReplay(changed, world.subscription, plan, { ...WHY, journal: memoryJournal() })
    await expect(running.result).rejects.toThrow('the ID of the consumer changed')
  })

  it('is not run twice at the same time', async () => {
    const world = await adopted()
    const plan = await world.plan()
    world.gate = new Promise((resolve) => world.open.push(resolve))
    const first = world.run(plan)
    await eventually(() => succeeds(replaysOf(world.consumer, world.subscription).status(plan.id)))
    await expect(world.run(plan)).rejects.toThrow('another process runs it')
    for (const open of world.open) open()
    await expect(first).resolves.toMatchObject({ status: 'finished' })
    expect(world.effects).toHaveLength(15)
  })

  it('pauses after the canary, and goes on where it ended', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const journal = memoryJournal()
    const first = await world.run(plan, { journal, canary: 2, concurrency: 1 })
    expect(first).toMatchObject({ status: 'paused', because: 'canary: 2 handled', totals: { handled: 2 } })
    expect(world.effects).toHaveLength(12)
    const second = await world.run(plan, { journal })
    expect(second).toMatchObject({ status: 'finished', totals: { handled: 5, 'done-before': 11 } })
    expect(await entries(journal)).toHaveLength(16)
    expect(world.effects).toHaveLength(15)
  })

  it('pauses when a person asks for it in another process, and is over when it is aborted', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const journal = memoryJournal()
    const job = runReplay(world.consumer, world.subscription, plan, { ...WHY, journal, rate: 0.05, concurrency: 1 })
    const replays = replaysOf(world.consumer, world.subscription)
    await eventually(() => succeeds(replays.pause(plan.id)))
    await expect(job.result).resolves.toMatchObject({ status: 'paused', because: 'a person asked for it' })
    const again = runReplay(world.consumer, world.subscription, plan, { ...WHY, journal, rate: 0.05, concurrency: 1 })
    await eventually(async () => (await replays.status(plan.id)).status === 'running')
    await replays.abort(plan.id)
    await expect(again.result).resolves.toMatchObject({ status: 'aborted' })
    await expect(world.run(plan, { journal })).rejects.toThrow('is aborted since')
    await expect(replays.pause(plan.id)).rejects.toThrow('is aborted')
  })

  it('is aborted while it is paused: nobody resumes it', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const journal = memoryJournal()
    await world.run(plan, { journal, canary: 1, concurrency: 1 })
    const replays = replaysOf(world.consumer, world.subscription)
    await expect(replays.pause(plan.id)).resolves.toMatchObject({ status: 'paused', because: 'canary: 1 handled' })
    const aborted = await replays.abort(plan.id, WHY)
    expect(aborted).toMatchObject({ status: 'aborted', because: 'a person asked for it', request: undefined })
    await expect(world.run(plan, { journal })).rejects.toThrow('is aborted since')
    await expect(replays.abort(plan.id)).rejects.toThrow('is aborted')
    expect(world.effects).toHaveLength(11)
  })

  it('is aborted if its process dies before it sees the request, and goes on after one to pause', async () => {
    for (const request of ['abort', 'pause'] as const) {
      const world = await adopted()
      const plan = await world.plan()
      const journal = memoryJournal()
      await world.run(plan, { journal, canary: 1, concurrency: 1 })
      const replays = replaysOf(world.consumer, world.subscription)
      const { scope, admin } = placeOf(world)
      const ledger = admin.replays ?? fail()
      // A process takes it, and is killed.
      const state = JSON.stringify({ ...(await replays.state(plan.id)), status: 'running' })
      const killed = { owner: 'killed', ttlMs: 60_000, state }
      await ledger.take(scope, plan.id, killed)
      await ledger.save(scope, plan.id, killed)
      await expect(replays[request](plan.id)).resolves.toMatchObject({ status: 'running', request })
      await ledger.leave(scope, plan.id, 'killed')
      const status = await replays.status(plan.id)
      expect([status.status, status.request]).toEqual([request === 'abort' ? 'aborted' : 'died', undefined])
      const resumed = world.run(plan, { journal }).then(
        ({ status: end }) => end,
        (error: unknown) => String(error),
      )
      await expect(resumed).resolves.toContain(request === 'abort' ? 'is aborted since' : 'finished')
      expect(world.effects).toHaveLength(request === 'abort' ? 11 : 15)
    }
  })

  it('is paused if its process has died', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const journal = memoryJournal()
    await world.run(plan, { journal, canary: 1, concurrency: 1 })
    const replays = replaysOf(world.consumer, world.subscription)
    const { scope, admin } = placeOf(world)
    const ledger = admin.replays ?? fail()
    const state = JSON.stringify({ ...(await replays.state(plan.id)), status: 'running' })
    await ledger.take(scope, plan.id, { owner: 'killed', ttlMs: 60_000, state })
    await ledger.save(scope, plan.id, { owner: 'killed', ttlMs: 60_000, state })
    await ledger.leave(scope, plan.id, 'killed')
    await expect(replays.status(plan.id)).resolves.toMatchObject({ status: 'died' })
    await expect(replays.pause(plan.id, WHY)).resolves.toMatchObject({ status: 'paused' })
  })

  it('tells of what was not selected that nobody looked at its record', async () => {
    const world = await adopted()
    const journal = memoryJournal()
    await world.run(await world.plan({ rules: { again: true }, ids: ['m3'] }), { journal })
    const told = (await entries(journal)).map(({ before, bucket }) => `${bucket}: ${before}`)
    expect(new Set(told)).toEqual(new Set(['done: done', 'filtered: not-asked']))
  })

  it('pauses after failures, and reports them', async () => {
    const world = await adopted()
    for (const id of ids(5, 'new')) world.failing.add(id)
    const journal = memoryJournal()
    const result = await world.run(await world.plan(), { journal, stopOnFailures: 2, concurrency: 1 })
    expect(result).toMatchObject({ status: 'paused', because: '2 failures', totals: { failed: 2 } })
    const failed = (await entries(journal)).filter(({ outcome }) => outcome === 'failed')
    expect(failed[0]).toMatchObject({ bucket: 'fresh', before: 'absent' })
    expect(failed[0]?.detail).toContain('no such number')
  })

  it('pauses after 50 failures in a row, and goes on when what failed them is mended', async () => {
    const world = await adopted()
    const many = ids(200, 'bad')
    for (const id of many) world.failing.add(id)
    world.publish(many)
    const [journal, plan] = [memoryJournal(), await world.plan()]
    const how = { journal, concurrency: 1, rate: 100_000 }
    const first = await world.run(plan, how)
    expect(first).toMatchObject({ status: 'paused', because: '50 failures in a row, and none was handled' })
    const { failed } = first.totals
    expect(failed).toBeGreaterThanOrEqual(50)
    expect(failed).toBeLessThan(150)
    world.failing.clear()
    const second = await world.run(plan, how)
    expect(second).toMatchObject({ status: 'finished', totals: { handled: 205 - failed, failed } })
  })

  it('handles what was given up only if it may, and what is done only on purpose', async () => {
    const world = await adopted()
    world.failing.add('new1')
    await world.live()
    expect(world.effects).toHaveLength(14)
    world.failing.clear()
    await expect(world.run(await world.plan())).resolves.toMatchObject({ totals: { handled: 0, skipped: 1 } })
    const included = await world.plan({ rules: { givenUp: 'handle' } })
    await expect(world.run(included)).resolves.toMatchObject({ totals: { handled: 1 } })
    const again = await world.plan({ rules: { again: true }, ids: ['m3', 'm4'] })
    expect(again.toHandle).toBe(2)
    await expect(world.run(again)).resolves.toMatchObject({ totals: { handled: 2, skipped: 14 } })
    expect(world.effects.filter((id) => id === 'm3')).toHaveLength(2)
  })

  it('finds everything unknown when the store has lost its data since the plan', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const empty = memoryStore()
    const consumer = defineConsumer({ name: 'sms', id: messageId.header('id'), store: empty, handle: () => {} })
    const running = runReplay(consumer, world.subscription, plan, { ...WHY, journal: memoryJournal() })
    await expect(running.result).rejects.toThrow('nothing proves that it was not handled')
  })

  it('refuses bad options, all at once', async () => {
    const world = await adopted()
    const bad = { rate: 0, canary: 0, quietHours: 'night', by: '' }
    await expect(world.run(await world.plan(), bad)).rejects.toThrow(/4 problems/)
  })
})

describe('a limit', () => {
  it('of a run is kept by its handlers, in place of the usual rate', async () => {
    const world = await adopted()
    world.publish(ids(20, 'more'))
    const plan = await world.plan()
    const began = performance.now()
    const progress = new Set<unknown>()
    const { rate: _, ...how } = {
      ...WHY,
      journal: memoryJournal(),
      limit: { perSecond: 25, burst: 1 },
      rate: undefined,
    }
    const job = runReplay(world.consumer, world.subscription, plan, how)
    for await (const { waits } of job) progress.add(waits)
    const { status, totals } = await job.result
    expect([status, totals.handled]).toEqual(['finished', 25])
    const seconds = (performance.now() - began) / 1_000
    expect(seconds).toBeGreaterThan(0.9)
    expect(seconds).toBeLessThan(3)
    expect(progress).toContain('limit')
  })

  it('that is wrong is refused before anything begins', async () => {
    const world = await adopted()
    const plan = await world.plan()
    const before = world.effects.length
    const limit = { perSecond: 0, burst: 0, per: 'second' } as never
    await expect(world.run(plan, { limit })).rejects.toThrow(
      /limit\.perSecond: expected a number from 0\.01 to 100000, got 0/,
    )
    await expect(world.run(plan, { limit })).rejects.toThrow(/limit\.per: unknown option/)
    expect(world.effects).toHaveLength(before)
  })
})
