import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { defineConsumer } from '../../../../src/consumer/define-consumer.ts'
import type { Publisher } from '../../../../src/ports/source.ts'
import { runConsumer } from '../../../../src/run/run.ts'
import { LogSource } from '../../../kit/log-source.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { MemoryOffsets } from '../../../../testing/stores/memory-offsets.ts'
import { OffsetsWorld, type Work } from '../../../kit/offsets-rig.ts'
import { RecordingSource } from '../../../kit/recording-source.ts'
import { gate } from '../../../kit/rig.ts'

const P0 = 'topic/0'
const P1 = 'topic/1'

let world: OffsetsWorld
beforeEach(() => {
  world = new OffsetsWorld()
})
afterEach(() => world.end())

const next = (stream: string): bigint | undefined => world.row(stream)?.next
const effects = (): readonly string[] => world.database.effects
const store = (): MemoryOffsets => new MemoryOffsets({ database: world.database })

describe.each(['handle', 'handleBatch'] as const)('stored positions (%s)', (handler) => {
  it('move in one transaction with the effects of a batch, and messages need no ID', async () => {
    await world.append(P0, 'a', 'b', 'c')
    const { outcomes, events, source } = await started({ handler })
    expect(effects()).toEqual(['a', 'b', 'c'])
    expect(next(P0)).toBe(3n)
    // A single handler is measured alone before others share its transaction.
    const marks = handler === 'handle' ? [{ count: 1 }, { count: 2 }] : [{ count: 3 }]
    expect(events.filter(({ type }) => type === 'marks')).toMatchObject(marks)
    expect(outcomes()).toEqual(['handled', 'handled', 'handled'])
    expect(source.committed.get(P0)).toBe(3n)
  })

  it('are where a process begins, whatever the broker has committed', async () => {
    await world.append(P0, 'a', 'b')
    const first = await world.start({ handler })
    first.die()
    for (const committed of [0n, 1n, 3n]) {
      await world.append(P0, String(committed))
      const process = await world.start({ handler, committed: new Map([[P0, committed]]) })
      process.die()
    }
    expect(effects()).toEqual(['a', 'b', '0', '1', '3'])
  })

  it('make a redelivery a duplicate', async () => {
    await world.append(P0, 'a', 'b')
    const process = await world.start({ handler })
    process.source.staleRead = 0n
    await process.source.join()
    await turns(30)
    expect(process.outcomes()).toEqual(['handled', 'handled', 'duplicate', 'duplicate'])
    expect(effects()).toEqual(['a', 'b'])
  })

  it('keep two partitions apart in one transaction', async () => {
    await world.append(P0, 'a', 'b')
    await world.append(P1, 'c')
    await world.start({ handler })
    expect(effects().toSorted()).toEqual(['a', 'b', 'c'])
    expect([next(P0), next(P1)]).toEqual([2n, 1n])
  })

  it('step over gaps', async () => {
    await world.append(P0, 'a', 'b', 'c', 'd')
    world.log.get(P0)?.delete(1n)
    world.log.get(P0)?.delete(2n)
    await world.start({ handler })
    await world.append(P0, 'e')
    expect(effects()).toEqual(['a', 'd', 'e'])
    expect(next(P0)).toBe(5n)
  })

  it('stay where they are when a handler fails, which is tried again before anything behind it [T37]', async () => {
    await world.append(P0, 'a', 'b', 'c')
    const process = await world.start({
      handler,
      before: ({ payload, attempt }) => {
        if (payload === 'b' && attempt < 3) throw new Error('not yet')
      },
    })
    expect(effects()).toEqual(['a'])
    expect(next(P0)).toBe(1n)
    await world.clock.advance(1_000)
    expect(effects()).toEqual(['a', 'b', 'c'])
    expect(process.started.filter((one) => one.startsWith('b'))).toEqual(
      handler === 'handle' ? ['b1', 'b2', 'b3'] : ['b1', 'b1', 'b2', 'b3'],
    )
    expect(process.started.filter((one) => one.startsWith('c'))).toEqual(['c1'])
  })

  it('have the effect once that moves with them, and as often as its handler starts what is done outside [T41]', async () => {
    const outside: string[] = []
    await world.append(P0, 'a')
    await world.start({
      handler,
      before: ({ payload, attempt }) => {
        outside.push(payload)
        if (attempt === 1) throw new Error('not yet')
      },
    })
    await world.clock.advance(1_000)
    expect(effects()).toEqual(['a'])
    expect(new Set(outside)).toEqual(new Set(['a']))
    expect(outside.length).toBeGreaterThan(1)
  })

  it('pass a message that fails for ever once its dead letter is confirmed, and not before', async () => {
    await world.append(P0, 'a', 'bad', 'c')
    const confirm = gate()
    const process = await world.start({ handler, maxAttempts: 2, before: failBad })
    process.source.publishHeld = confirm.opened
    await world.clock.advance(1_000)
    expect(effects()).toEqual(['a'])
    expect(next(P0)).toBe(1n)
    confirm.open()
    await turns(30)
    expect(effects()).toEqual(['a', 'c'])
    expect(next(P0)).toBe(3n)
    expect(process.source.deadLetters).toMatchObject([{ reason: 'attempts-spent', attempts: 2, parked: false }])
  })

  it('lose nothing when the process dies between a set-aside and its dead letter', async () => {
    await world.append(P0, 'a', 'bad', 'c', 'd')
    const first = await world.start({ handler, maxAttempts: 2, before: failBad })
    first.source.publishHeld = new Promise(() => {})
    await world.clock.advance(1_000)
    expect(world.row(P0)).toMatchObject({ next: 1n, aside: { as: 'given-up' } })
    first.die()
    const second = await world.start({ handler, maxAttempts: 2 })
    expect(second.source.deadLetters).toMatchObject([{ reason: 'attempts-spent' }])
    expect(effects()).toEqual(['a', 'c', 'd'])
    expect(second.started).toEqual(['c1', 'd1'])
    expect(next(P0)).toBe(4n)
  })

  it('dead-letter once what is the last of its partition, however often that is joined', async () => {
    await world.append(P0, 'bad')
    const process = await world.start({ handler, maxAttempts: 1, batchSize: 1, before: failBad })
    for (const _ of [1, 2, 3]) {
      await process.source.join()
      await turns(30)
    }
    expect(process.source.deadLetters).toHaveLength(1)
    expect(next(P0)).toBe(1n)
  })

  it('pass many that fail, in a row', async () => {
    await world.append(P0, 'bad', 'bad', 'bad', 'a', 'bad')
    const process = await world.start({ handler, maxAttempts: 2, before: failBad })
    await world.clock.advance(2_000)
    expect(process.source.deadLetters).toHaveLength(4)
    expect(effects()).toEqual(['a'])
    expect(next(P0)).toBe(5n)
  })

  it('count an attempt for all of a transaction that died with its process, and each then runs alone', async () => {
    await world.append(P0, 'a', 'b', 'c')
    const stuck = gate()
    const first = await world.start({ handler, before: ({ payload }) => (payload === 'b' ? stuck.opened : undefined) })
    expect(first.started).toEqual(['a1', 'b1'])
    first.die()
    const second = await world.start({ handler })
    expect(second.started).toEqual(handler === 'handle' ? ['b2', 'c2'] : ['a2', 'b2', 'c2'])
    expect(effects()).toEqual(['a', 'b', 'c'])
    stuck.open()
    await turns(30)
    expect(effects()).toEqual(['a', 'b', 'c'])
    await world.append(P0, 'd')
    expect(second.started.at(-1)).toBe('d1')
  })

  it('go on in other partitions, whatever was started before takes in one', async () => {
    await world.append(P0, 'slow', 'b')
    await world.append(P1, 'c', 'd')
    const stuck = gate()
    const first = await world.start({ handler, before: () => new Promise(() => {}) })
    first.die()
    const second = await world.start({
      handler,
      before: ({ payload }) => (payload === 'slow' ? stuck.opened : undefined),
    })
    await world.append(P1, 'e')
    expect(effects()).toEqual(['c', 'd', 'e'])
    expect(second.running.health()).toMatchObject({ ready: true })
    stuck.open()
    await turns(60)
    expect(effects()).toEqual(['c', 'd', 'e', 'slow', 'b'])
  })

  it('dead-letter what kills its process each time, and nothing beside it', async () => {
    await world.append(P0, 'a', 'killer', 'c')
    const dying = { handler, maxAttempts: 3, before: waitAt('killer') } as const
    for (const _ of [1, 2, 3]) (await world.start(dying)).die()
    const last = await world.start(dying)
    expect(last.source.deadLetters).toMatchObject([{ reason: 'attempts-spent' }])
    expect(effects()).toEqual(['a', 'c'])
  })

  it('count the attempt of what a stop interrupts', async () => {
    await world.append(P0, 'a', 'b')
    const first = await world.start({ handler, before: waitAt('a') })
    const stopping = first.running.stop({ deadlineMs: 0 })
    await world.clock.advance(60_000)
    await stopping
    const second = await world.start({ handler })
    expect(second.started).toEqual(handler === 'handle' ? ['a2', 'b1'] : ['a2', 'b2'])
  })
})

describe('stored positions after a restore of the database', () => {
  it('heal in a process that runs on: what was lost is handled again, in order, once', async () => {
    await world.append(P0, 'a', 'b')
    const process = await world.start()
    const backup = world.database.backup()
    await world.append(P0, 'c', 'd')
    expect(effects()).toEqual(['a', 'b', 'c', 'd'])
    world.database.restore(backup)
    await world.append(P0, 'e')
    expect(process.source.rewound).toEqual([P0])
    expect(effects()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(next(P0)).toBe(5n)
  })

  it('heal in a process that is started after it, though the broker has committed more', async () => {
    await world.append(P0, 'a', 'b')
    const first = await world.start()
    const backup = world.database.backup()
    await world.append(P0, 'c')
    first.die()
    world.database.restore(backup)
    await world.start()
    expect(effects()).toEqual(['a', 'b', 'c'])
  })

  it('heal while a transaction is open', async () => {
    await world.append(P0, 'a')
    const wait = gate()
    await world.start({
      before: ({ payload, attempt }) => (payload === 'd' && attempt === 1 ? wait.opened : undefined),
    })
    const backup = world.database.backup()
    await world.append(P0, 'b', 'c')
    await world.append(P0, 'd', 'e')
    world.database.restore(backup)
    wait.open()
    await turns(60)
    await world.clock.advance(1_000)
    expect(effects()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('begin where the broker has committed when the row is deleted, which is how a stream is given up', async () => {
    await world.append(P0, 'a', 'b')
    const process = await world.start()
    world.loseRow(P0)
    await world.append(P0, 'c')
    expect(process.source.rewound).toEqual([P0])
    expect(effects()).toEqual(['a', 'b', 'c'])
    expect(next(P0)).toBe(3n)
  })
})

describe('two processes that both believe to own a partition', () => {
  it('have one effect of each message', async () => {
    const wait = gate()
    await world.append(P0, 'a', 'b', 'c')
    await world.start({ before: ({ payload }) => (payload === 'b' ? wait.opened : undefined) })
    const second = await world.start()
    await world.clock.advance(2_000)
    expect(second.started).toEqual([])
    wait.open()
    await turns(30)
    await world.clock.advance(2_000)
    expect(effects()).toEqual(['a', 'b', 'c'])
    expect(second.outcomes()).toEqual(['duplicate', 'duplicate'])
    await world.append(P0, 'd', 'e')
    await world.clock.advance(2_000)
    expect(effects()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })
})

describe('a rebalance that gives back the partition', () => {
  it('joins what still runs, which is settled in the new epoch', async () => {
    const wait = gate()
    await world.append(P0, 'a', 'b')
    const process = await world.start({ before: ({ payload }) => (payload === 'a' ? wait.opened : undefined) })
    await process.source.join()
    await turns()
    wait.open()
    await turns(30)
    expect(process.started).toEqual(['a1', 'b1'])
    expect(process.source.committed.get(P0)).toBe(2n)
    expect(effects()).toEqual(['a', 'b'])
  })
})

describe('a message', () => {
  it('has an idempotency key that is its place [T44]', async () => {
    const keys: Record<string, string[]> = {}
    const note = ({ position, idempotencyKey }: Work): void => {
      keys[position] = [...(keys[position] ?? []), idempotencyKey]
      if (keys[position].length === 1) throw new Error('once more')
    }
    await world.append(P0, 'a', 'a')
    await world.append(P1, 'a')
    await world.start({ before: note, batchSize: 1 })
    await world.clock.advance(1_000)
    expect(Object.keys(keys).toSorted()).toEqual(['topic/0@0', 'topic/0@1', 'topic/1@0'])
    const distinct = Object.values(keys).map((ofPlace) => new Set(ofPlace))
    expect(distinct.map(({ size }) => size)).toEqual([1, 1, 1])
    expect(new Set(distinct.flatMap((ofPlace) => [...ofPlace])).size).toBe(3)
  })
})

describe('a consumer with stored positions is refused', () => {
  it('on a source that does not begin at them', async () => {
    const source = new RecordingSource()
    const consumer = defineConsumer({ name: 'c', store: store(), handle: () => {} })
    await expect(runConsumer(consumer, { source, publisher: source })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('a source that begins at stored positions'),
    })
  })

  it.each<[string, Partial<Publisher>]>([
    ['what failed', { retryDelayMs: () => 1_000 }],
    ['what another owner is busy with', { busyWaitMs: 1_000 }],
  ])('with retry places for %s', async (_what, places) => {
    const source = new LogSource()
    const publisher: Publisher = { deadLetter: async () => {}, retryLater: async () => {}, ...places }
    const consumer = defineConsumer({ name: 'c', store: store(), handle: () => {} })
    await expect(runConsumer(consumer, { source, publisher })).rejects.toThrow('retry places: expected none')
  })

  it.each([
    ['id', { id: () => 'a' }],
    ['onConflict', { onConflict: 'duplicate' }],
    ['onInDoubt', { onInDoubt: 'rerun' }],
    ['whenBusy', { whenBusy: 'hand-back' }],
  ] as const)('with %s', (name, option) => {
    const given: object = option
    expect(() => defineConsumer({ name: 'c', store: store(), handle: () => {}, ...given })).toThrow(`"c": ${name}:`)
  })

  it('where the store keeps none', () => {
    const lacking = { strategy: 'offsets', claim: () => {} } as never
    expect(() => defineConsumer({ name: 'c', store: lacking, handle: () => {} })).toThrow('to have positions')
  })
})

async function started(options: Parameters<OffsetsWorld['start']>[0]): Promise<{
  readonly outcomes: () => string[]
  readonly events: readonly { readonly type: string }[]
  readonly source: LogSource
}> {
  const process = await world.start(options)
  return { outcomes: () => process.outcomes(), events: process.events, source: process.source }
}

function failBad({ payload }: Work): void {
  if (payload === 'bad') throw new Error('declined')
}

function waitAt(payload: string): (work: Work) => Promise<void> | undefined {
  return (work) => (work.payload === payload ? new Promise(() => {}) : undefined)
}
