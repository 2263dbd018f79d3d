import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, type ObserverEvent, type Running } from '../../../../src/index.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../../../src/memory/index.ts'
import { runConsumer } from '../../../../src/run/run.ts'
import { Meter } from '../../../../src/signals/meter.ts'
import { MemoryInbox, MemoryOffsets, type MemoryTx } from '../../../../testing/index.ts'
import { LogSource } from '../../../kit/log-source.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { OffsetsWorld } from '../../../kit/offsets-rig.ts'

let running: Running | undefined
afterEach(() => running?.stop())

type Ended = Extract<ObserverEvent, { type: 'delivery' }>

interface Bench {
  readonly ended: Ended[]
  readonly lines: unknown[]
  readonly publish: (...ids: readonly string[]) => Promise<void>
}

const STORES = { lease: memoryStore, inbox: () => new MemoryInbox() }

async function start(
  store: ReturnType<(typeof STORES)[keyof typeof STORES]>,
  handle: (context: { readonly skip: (reason: string) => unknown }) => unknown,
  more: object = {},
): Promise<Bench> {
  const broker = new MemoryBroker()
  const ended: Ended[] = []
  const lines: unknown[] = []
  const log = (fields: object): void => void lines.push(fields)
  const consumer = defineConsumer({
    name: 'c',
    id: messageId.header('id'),
    store: store as never,
    handle,
    log: { debug: log, info: log, warn: log, error: log },
    observe: (event: ObserverEvent) => {
      if (event.type === 'delivery') ended.push(event)
    },
    ...more,
  })
  running = await runMemory(broker, consumer, { topic: 't', group: 'g' })
  return {
    ended,
    lines,
    publish: async (...ids) => {
      for (const id of ids) broker.publish('t', { value: Buffer.from('{}'), headers: { id } })
      await broker.drained('t', 'g')
    },
  }
}

describe.each(Object.entries(STORES))('a handler that returns ctx.skip, strategy %s', (_, newStore) => {
  it('is marked and settled as skipped, with its reason, and its duplicates are duplicates', async () => {
    let runs = 0
    const bench = await start(newStore(), ({ skip }) => {
      runs++
      return skip('late created')
    })
    await bench.publish('a')
    await bench.publish('a')
    expect(bench.ended.map(({ outcome, detail, reason }) => [outcome, detail, reason])).toEqual([
      ['skipped', 'late created', undefined],
      ['duplicate', undefined, undefined],
    ])
    expect(bench.lines).toContainEqual(expect.objectContaining({ outcome: 'skipped', detail: 'late created' }))
    expect(runs).toBe(1)
  })

  it('has no effect if the value is not returned', async () => {
    const bench = await start(newStore(), ({ skip }) => void skip('forgotten'))
    await bench.publish('a')
    expect(bench.ended.map(({ outcome, detail }) => [outcome, detail])).toEqual([['handled', undefined]])
  })

  it('cuts a long reason, and takes an empty one for a mistake', async () => {
    const bench = await start(newStore(), ({ skip }) => skip('x'.repeat(1_000)))
    await bench.publish('a')
    expect(bench.ended[0]?.detail).toHaveLength(200)
    await running?.stop()
    const wrong = await start(newStore(), ({ skip }) => skip(' '), { maxAttempts: 1 })
    await wrong.publish('b')
    expect(wrong.ended.map(({ outcome }) => outcome)).toEqual(['dead-lettered'])
  })

  it('keeps no result, where results are kept', async () => {
    const bench = await start(newStore(), ({ skip }) => skip('nothing to do'), { rememberResult: true })
    await bench.publish('a')
    await bench.publish('a')
    expect(bench.ended.map(({ outcome }) => outcome)).toEqual(['skipped', 'duplicate'])
    expect(bench.ended[0]?.result).toEqual(bench.ended[1]?.result)
  })
})

it('commits what the handler wrote, strategy offsets', async () => {
  const world = new OffsetsWorld()
  const source = new LogSource(world.log)
  const outcomes: unknown[] = []
  const consumer = defineConsumer<unknown, unknown, MemoryTx>({
    name: 'consumer',
    store: new MemoryOffsets({ database: world.database }),
    handle: async ({ tx, skip, payload }) => {
      await tx.insert(String(payload))
      return skip('written, and nothing else to do')
    },
    observe: (event) => {
      if (event.type === 'delivery') outcomes.push(event.outcome)
    },
  })
  await world.append('topic/0', 'a', 'b')
  running = await runConsumer(consumer, { source, publisher: source, clock: world.clock })
  await turns(30)
  expect([outcomes, world.database.effects]).toEqual([
    ['skipped', 'skipped'],
    ['a', 'b'],
  ])
})

it('is an outcome of the metric, whose labels do not have the reason', async () => {
  const meter = new Meter()
  const bench = await start(memoryStore(), ({ skip }) => skip('late created'), { observe: meter.observe })
  await bench.publish('a')
  const [counted] = meter.counter('deliveries').filter(({ value }) => value > 0)
  expect(counted).toMatchObject({ labels: { outcome: 'skipped', reason: '' }, value: 1 })
  expect(JSON.stringify(meter.counter('deliveries'))).not.toContain('late')
})
