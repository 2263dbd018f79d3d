import { expect, it } from '@jest/globals'
import { defineConsumer, runInline, type Consumer } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { type Capacity } from '../../../../src/internal.ts'
import { MemoryInbox } from '../../../../testing/stores/memory-inbox.ts'

const sizes = { name: 'sms', concurrency: 30, transactions: 3, batchSize: 20, maxInFlight: 500 }
const handle = (): void => {}

function capacityOf(consumer: Consumer): Partial<Capacity> {
  const { handlers, claims } = runInline(consumer, { group: 'g' }).capacity
  return { handlers, claims }
}

const inFlight = (consumer: Consumer): number => runInline(consumer, { group: 'g' }).capacity.maxInFlight

it('a lease claims a message for each handler that runs at once', () => {
  expect(capacityOf(defineConsumer({ ...sizes, store: memoryStore(), handle }))).toEqual({ handlers: 30, claims: 30 })
})

it('a lease with handleBatch runs as many handlers as its slots make batches', () => {
  const consumer = defineConsumer({ ...sizes, store: memoryStore(), handleBatch: handle })
  expect(capacityOf(consumer)).toEqual({ handlers: 2, claims: 30 })
})

it('an inbox runs one handler in each transaction, and claims a batch for each', () => {
  const consumer = defineConsumer({ ...sizes, store: new MemoryInbox(), handle })
  expect(capacityOf(consumer)).toEqual({ handlers: 3, claims: 60 })
})

it('tells how long a message may be under way', () => {
  const times = { leaseMs: 7_000, handlerTimeoutMs: 11_000, graceMs: 500 }
  const { capacity } = runInline(defineConsumer({ ...sizes, ...times, store: memoryStore(), handle }), { group: 'g' })
  expect(capacity).toMatchObject({ maxInFlight: 500, leaseMs: 7_000, longestRunMs: 11_500 })
})

it('takes as much as can be claimed at once and as much again, but 500 at least', () => {
  const { maxInFlight: _, ...others } = sizes
  expect(inFlight(defineConsumer({ ...others, store: memoryStore(), handle }))).toBe(500)
  expect(inFlight(defineConsumer({ ...others, concurrency: 300, store: memoryStore(), handle }))).toBe(600)
  expect(inFlight(defineConsumer({ ...others, batchSize: 200, store: new MemoryInbox(), handle }))).toBe(1_200)
  // Which an inbox does not use, and is compared with.
  expect(inFlight(defineConsumer({ ...others, concurrency: 2_000, store: new MemoryInbox(), handle }))).toBe(2_000)
})
