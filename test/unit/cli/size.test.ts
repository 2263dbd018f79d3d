import { describe, expect, it } from '@jest/globals'
import { COSTS } from '../../../cli/size/costs.ts'
import type { Load } from '../../../cli/size/load.ts'
import { DEFAULTS, sizeOf } from '../../../cli/size/size.ts'
import { resolveOptions } from '../../../src/consumer/resolve-options.ts'
import { memoryStore } from '../../../src/memory/index.ts'

const LOAD: Load = {
  rate: 1_000,
  duplicates: 0.2,
  retentionMs: 86_400_000,
  payloadBytes: 1_024,
  handlerMs: 20,
  store: 'redisLease',
  broker: 'kafka',
  isBatch: false,
  memoryBytes: 64e9,
  diskBytes: 1e12,
}

function valuesOf(load: Partial<Load> = {}): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(sizeOf({ ...LOAD, ...load }).lines.map(({ name, value }) => [name, value]))
}

/** What comes behind the limit of one server. */
function beyond(load: Partial<Load>): string {
  return sizeOf({ ...LOAD, ...load }).limit?.beyond.join('\n') ?? ''
}

describe('the size of a load', () => {
  it('has the defaults of the library', () => {
    const store = memoryStore()
    const one = resolveOptions({ name: 'a', store, handle: () => {} })
    const many = resolveOptions({ name: 'a', store, handleBatch: () => {} })
    expect(DEFAULTS).toEqual({
      concurrency: one.concurrency,
      transactions: one.transactions,
      batchSize: one.batchSize,
      handleBatchSize: many.batchSize,
      leastInFlight: one.maxInFlight,
    })
  })

  it('keeps a record for each message that is handled, as long as the retention', () => {
    const records = 800 * 86_400
    const bytes = records * (COSTS.redisLease.handle.bytesEach?.value ?? 0)
    expect(valuesOf()).toMatchObject({ records, 'memory of the records': bytes, 'memory to provide': 2 * bytes })
    expect(valuesOf({ duplicates: 0 })).toMatchObject({ records: 1_000 * 86_400 })
  })

  it('has a slot for each handler that runs at once, and half as many for bursts', () => {
    expect(valuesOf()).toMatchObject({ 'handlers at once': 16, concurrency: DEFAULTS.concurrency })
    expect(valuesOf({ handlerMs: 200 })).toMatchObject({ 'handlers at once': 160, concurrency: 240 })
    const inbox = { store: 'postgresInbox', handlerMs: 20 } as const
    expect(valuesOf(inbox)).toMatchObject({ transactions: 24, 'connections of a pool': 25, batchSize: 100 })
    expect(valuesOf({ ...inbox, isBatch: true })).toMatchObject({ transactions: 4, batchSize: 500 })
  })

  it('takes more of the consumers for a larger payload, and for more messages', () => {
    const cores = (load: Partial<Load>): number => valuesOf(load)['cores of the consumers'] ?? 0
    expect(cores({ payloadBytes: 100 })).toBe(cores({}))
    expect(cores({ payloadBytes: 102_400 })).toBeGreaterThan(cores({}))
    expect(cores({ rate: 3_000 })).toBeCloseTo(3 * cores({}))
    expect(valuesOf({ rate: 100 })['processes']).toBe(2)
    const { processes = 0, partitions } = valuesOf({ rate: 30_000 })
    expect(processes).toBe(Math.ceil(cores({ rate: 30_000 }) / 0.7) + 1)
    expect(partitions).toBe(2 * processes)
  })

  it('has a prefetch in place of partitions for RabbitMQ, and more queues where one is full', () => {
    expect(valuesOf({ broker: 'rabbitmq' })).toMatchObject({ prefetch: 128, queues: 1 })
    expect(valuesOf({ broker: 'rabbitmq', rate: 100_000 })).toMatchObject({ prefetch: 1_000, queues: 2 })
    expect(valuesOf({ broker: 'rabbitmq' })).not.toHaveProperty('partitions')
  })
})

describe('the limit of one server', () => {
  it('is where the load at it is served, and a little more is not', () => {
    for (const given of [
      {},
      { retentionMs: 1_000 },
      { store: 'postgresInbox' },
      { store: 'postgresInbox', retentionMs: 1_000 },
    ] as const) {
      const { limit } = sizeOf({ ...LOAD, ...given })
      const rate = limit?.rate ?? 0
      expect(rate).toBeGreaterThan(0)
      expect(sizeOf({ ...LOAD, ...given, rate: 0.999 * rate }).serves).toBe(true)
      expect(sizeOf({ ...LOAD, ...given, rate: 1.001 * rate }).serves).toBe(false)
    }
  })

  it('is its memory or its disk, where records are kept for long: the size at the limit fills it', () => {
    const { limit } = sizeOf(LOAD)
    expect(limit?.how).toContain('memory')
    expect(valuesOf({ rate: limit?.rate ?? 0 })['memory to provide']).toBeCloseTo(LOAD.memoryBytes)
    const inbox = { store: 'postgresInbox', retentionMs: 30 * 86_400_000 } as const
    const onDisk = sizeOf({ ...LOAD, ...inbox }).limit
    expect(onDisk?.how).toContain('disk')
    expect(valuesOf({ ...inbox, rate: onDisk?.rate ?? 0 })['disk to provide']).toBeCloseTo(LOAD.diskBytes)
  })

  it('names what comes then', () => {
    expect(beyond({ rate: 1e6, retentionMs: 1_000 })).toMatch(/Redis cluster of \d+ primaries[\s\S]*sequences/)
    const fast = { store: 'postgresInbox', rate: 1e6, retentionMs: 1_000 } as const
    expect(beyond(fast)).toMatch(/handleBatch[\s\S]*inboxPartitions[\s\S]*postgresOffsets[\s\S]*sequences/)
    expect(beyond({ ...fast, isBatch: true })).not.toContain('handleBatch')
    expect(beyond({ ...fast, broker: 'rabbitmq' })).not.toContain('postgresOffsets')
  })

  it('is not told where nothing was recorded', () => {
    for (const store of ['postgresLease', 'mysqlInbox'] as const) {
      const { limit, serves, notes } = sizeOf({ ...LOAD, store })
      expect({ limit, serves }).toEqual({ limit: undefined, serves: undefined })
      expect(notes.join(' ')).toContain('not recorded')
    }
  })
})
