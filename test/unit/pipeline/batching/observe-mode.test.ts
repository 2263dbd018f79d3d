import { afterEach, describe, expect, it } from '@jest/globals'
import {
  ConfigError,
  defineConsumer,
  observedReport,
  type ObservedReport,
  type ObserverEvent,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { TerminalError } from '../../../../src/foundation/errors.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { MemoryInbox } from '../../../../testing/stores/memory-inbox.ts'
import { InboxDatabase } from '../../../../testing/stores/inbox-database.ts'
import { endRigs, gate, startRig, World, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

const HANDLERS = ['handle', 'handleBatch'] as const
type Handler = (typeof HANDLERS)[number]

async function observing(options: Partial<RigOptions> & { readonly handler?: Handler } = {}): Promise<Rig> {
  const { handler = 'handle', ...others } = options
  const rig = await startRig({
    mode: 'observe',
    style: { strategy: 'lease', handler },
    effect: ({ apply }) => apply(),
    ...others,
  })
  // The scripted store has no admin of its own, and the report is kept by one.
  Object.assign(rig.store, { admin: rig.world.lease.admin })
  return rig
}

/** Until the records are written. */
async function written(rig: Rig): Promise<void> {
  await rig.clock.advance(100)
}

function verdicts({ events }: Rig): readonly string[] {
  return events.flatMap((event) => (event.type === 'observed' ? [`${event.count} ${event.verdict}`] : []))
}

function observedOf({ events }: Rig): readonly Extract<ObserverEvent, { type: 'observed' }>[] {
  return events.filter((event) => event.type === 'observed')
}

function failing(times: number): RigOptions['effect'] {
  let failed = 0
  return ({ apply }) => {
    if (failed++ < times) throw new Error('no')
    return apply()
  }
}

describe.each(HANDLERS)('mode observe with %s', (handler) => {
  it('runs a message as often as it is delivered, and says which run would have been dropped [T243]', async () => {
    const rig = await observing({ handler })
    await rig.deliver('a', 'b')
    await written(rig)
    await rig.clock.advance(5_000)
    await rig.deliver('a')
    await written(rig)
    expect(rig.world.effects.toSorted()).toEqual(['a', 'a', 'b'])
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(verdicts(rig)).toEqual(['2 run', '1 duplicate'])
    expect(observedOf(rig).at(-1)?.example).toMatchObject({ verdict: 'duplicate', position: '0@2', ageMs: 5_050 })
  })

  it('gathers what ends while records are written: one call for all of it', async () => {
    const rig = await observing({ handler })
    const { opened, open } = gate()
    rig.store.script('claim', opened)
    await rig.deliver('a')
    await written(rig)
    await rig.deliver('b')
    open()
    await rig.clock.advance(10)
    await rig.deliver('c')
    await written(rig)
    expect(rig.store.calls('claim').map(({ keys }) => keys.length)).toEqual([1, 2])
    expect(verdicts(rig)).toEqual(['1 run', '2 run'])
  })

  it('runs two deliveries of one message that arrive together [T244]', async () => {
    const rig = await observing({ handler })
    await rig.deliver('a', 'a', 'a')
    expect(rig.world.effects).toEqual(['a', 'a', 'a'])
    await written(rig)
    expect(verdicts(rig).toSorted()).toEqual(['1 duplicate', '1 duplicate', '1 run'])
  })

  it('settles while the store is down, and writes the records when it is back [T240]', async () => {
    const rig = await observing({ handler })
    rig.store.isDown = true
    await rig.deliver('a', 'b')
    await written(rig)
    await rig.deliver('c')
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(rig.source.calls).not.toContain('pause')
    rig.store.isDown = false
    await rig.clock.advance(5_000)
    expect(verdicts(rig)).toEqual(['2 run', '1 run'])
    await rig.deliver('c')
    await written(rig)
    expect(verdicts(rig).at(-1)).toBe('1 duplicate')
  })

  it('never waits for a store that hangs', async () => {
    const rig = await observing({ handler })
    const { opened, open } = gate()
    rig.store.script('claim', opened)
    for (let round = 0; round < 5; round++) await rig.deliver(`m${round}`)
    await rig.clock.advance(1_000)
    await rig.deliver('last')
    expect(rig.outcomes()).toHaveLength(6)
    open()
    await written(rig)
    expect(verdicts(rig)).toEqual(['5 run', '1 run'])
  })

  it('runs a message without a usable ID and one that conflicts, and tells both [T241]', async () => {
    const rig = await observing({ handler })
    await rig.deliver({ id: 'a', payload: 1 })
    await written(rig)
    await rig.deliver({ id: 'a', payload: 2 }, { id: undefined, payload: 3 })
    await written(rig)
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(rig.source.deadLetters).toEqual([])
    expect(verdicts(rig)).toEqual(['1 run', '1 dead-letter', '1 conflict'])
    expect(observedOf(rig)[1]?.example).toMatchObject({ key: undefined, reason: 'no-id' })
  })

  it('writes records that a consumer which enforces finds', async () => {
    const world = new World()
    const before = await observing({ handler, world })
    await before.deliver('a')
    await before.running.stop()
    const after = await startRig({
      world,
      style: { strategy: 'lease', handler },
      effect: ({ apply }) => apply(),
    })
    await after.deliver('a', 'b')
    expect(after.outcomes().toSorted()).toEqual(['duplicate', 'handled'])
    expect(world.effects).toEqual(['a', 'b'])
  })
})

describe('a failure in mode observe', () => {
  it('is tried again in its lane, beyond the most attempts, and never dead-lettered [T242]', async () => {
    const rig = await observing({ maxAttempts: 2, effect: failing(6), backoff: { initialMs: 100, maxMs: 100 } })
    await rig.deliver({ id: 'a', lane: 'x' }, { id: 'b', lane: 'x' })
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(2_000)
    expect(rig.started).toEqual([...Array.from({ length: 7 }, () => 'a'), 'b'])
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(rig.source.deadLetters).toEqual([])
    expect(observedOf(rig)[0]?.example).toMatchObject({ verdict: 'dead-letter', reason: 'attempts-spent' })
    await written(rig)
    // `a` was told as a dead letter, and is not told again.
    expect(verdicts(rig)).toEqual(['1 dead-letter', '1 run'])
  })

  it('that would be final is tried again too', async () => {
    let isFatal = true
    const rig = await observing({
      effect: ({ apply }) => {
        if (isFatal) throw new TerminalError('no such card')
        return apply()
      },
    })
    await rig.deliver('a')
    expect(observedOf(rig)[0]?.example).toMatchObject({ verdict: 'dead-letter', reason: 'handler-failed' })
    isFatal = false
    await rig.clock.advance(30_000)
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('to decode is tried again, and told once', async () => {
    const rig = await observing({ backoff: { initialMs: 100, maxMs: 100 } })
    await rig.deliver({ id: 'a', bytes: Buffer.from('{') })
    await rig.clock.advance(1_000)
    expect(rig.outcomes()).toEqual([])
    expect(observedOf(rig).map(({ example }) => example?.reason)).toEqual(['undecodable'])
    expect(rig.count('attempt-failed')).toBeGreaterThan(2)
  })

  it('of a batch runs its messages again one by one', async () => {
    let calls = 0
    const rig = await observing({
      handler: 'handleBatch',
      effect: ({ apply }) => {
        if (++calls === 2) throw new Error('no')
        return apply()
      },
    })
    await rig.deliver('a', 'b', 'c')
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(rig.world.effects).toEqual(['a', 'a', 'b', 'c'])
  })
})

describe('the end of a consumer in mode observe', () => {
  it('writes what waits for the store', async () => {
    const rig = await observing()
    await rig.deliver('a', 'b')
    await rig.running.stop()
    expect(verdicts(rig)).toEqual(['2 run'])
    expect(await reportOf(rig)).toMatchObject({ counts: { run: 2, duplicate: 0, unknown: 0 } })
  })

  it('does not wait for a store that is down, and counts what was never asked', async () => {
    const rig = await observing()
    rig.store.isDown = true
    await rig.deliver('a', 'b')
    await written(rig)
    await rig.deliver('c')
    await rig.running.stop({ deadlineMs: 10 * 60_000 })
    expect(verdicts(rig).toSorted()).toEqual(['1 unknown', '2 unknown'])
  })

  it('aborts a handler at the deadline, and hands its message back', async () => {
    const rig = await observing({ effect: ({ signal }) => new Promise((_, reject) => onAbort(signal, reject)) })
    await rig.deliver('a')
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(1_000)
    await stopping
    expect(rig.outcomes()).toEqual(['handed-back'])
  })

  it('reports a handler that ignores its signal', async () => {
    const held = gate()
    const rig = await observing({ effect: () => held.opened, handlerTimeoutMs: 1_000, graceMs: 1_000 })
    await rig.deliver('a')
    await rig.clock.advance(3_000)
    expect(rig.running.health().live).toBe(false)
    expect(rig.count('stuck')).toBe(1)
    held.open()
    await turns()
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.running.health().live).toBe(true)
  })
})

describe('the report of mode observe', () => {
  it('adds up all processes, and survives them', async () => {
    const world = new World()
    const first = await observing({ world })
    await first.deliver('a', 'b')
    await first.running.stop()
    await world.clock.advance(3_600_000)
    const second = await observing({ world })
    await second.deliver('a', { id: 'b', payload: 'other' }, 'c')
    await world.clock.advance(20_000)
    const report = await reportOf(second)
    expect(report?.counts).toMatchObject({ run: 3, duplicate: 1, conflict: 1, unknown: 0 })
    expect(report?.oldestMs).toBe(3_600_000)
    expect(report?.examples.map(({ verdict }) => verdict).toSorted()).toEqual(['conflict', 'duplicate'])
  })

  it('keeps 20 examples', async () => {
    const rig = await observing()
    const ids = Array.from({ length: 30 }, (_, at) => `id-${at}`)
    for (let round = 0; round < 2; round++) {
      await rig.deliver(...ids)
      await written(rig)
    }
    await rig.running.stop()
    const report = await reportOf(rig)
    expect(report?.counts).toMatchObject({ run: 30, duplicate: 30 })
    expect(report?.examples).toHaveLength(20)
  })

  it('is none before the first message', async () => {
    expect(await reportOf(await observing())).toBeUndefined()
  })

  it('needs a store that can keep it', async () => {
    const store = Object.assign(memoryStore(), { admin: undefined })
    const consumer = defineConsumer({ name: 'consumer', store, handle: () => {} })
    await expect(observedReport(consumer, { group: 'group' })).rejects.toThrow(/admin\.replays/)
  })
})

describe('a start in mode observe', () => {
  it('does not wait for a store that cannot be opened', async () => {
    const store = memoryStore()
    let isUp = false
    store.open = () => (isUp ? Promise.resolve() : Promise.reject(new ConfigError(['no tables'])))
    const world = new World()
    const rig = await observing({ world: Object.assign(world, { lease: store }) })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled'])
    expect(rig.running.health().checks.store).toBe('down')
    isUp = true
    await rig.clock.advance(5_000)
    expect(rig.running.health().checks.store).toBe('ok')
  })

  it('is refused with a store that gives the transaction of the handler', () => {
    const store = new MemoryInbox({ database: new InboxDatabase(), clock: new World().clock })
    expect(() => defineConsumer({ name: 'c', store, handle: () => {}, mode: 'observe' })).toThrow(
      /mode: expected "enforce", got "observe".*strategy lease/,
    )
    const mode = 'watch' as 'observe'
    expect(() => defineConsumer({ name: 'c', store: memoryStore(), handle: () => {}, mode })).toThrow(
      /mode: expected "enforce" or "observe"/,
    )
  })
})

function onAbort(signal: AbortSignal, call: (reason: unknown) => void): void {
  signal.addEventListener('abort', () => call(signal.reason), { once: true })
}

function reportOf({ world }: Rig): Promise<ObservedReport | undefined> {
  const consumer = defineConsumer({ name: 'consumer', store: world.lease, handle: () => {} })
  return observedReport(consumer, { group: 'group' })
}
