import { describe, expect, it } from '@jest/globals'
import { PartitionLanes } from '../../../adapters/kafka/membership/partition-lanes.ts'

const orders = new PartitionLanes('orders/3')

describe('the lane of a message', () => {
  it('is the same for the same key of a partition, in every epoch', () => {
    const lane = orders.of(Buffer.from('customer-1'), 'key')
    expect(new PartitionLanes('orders/3').of(Buffer.from('customer-1'), 'key')).toBe(lane)
  })

  it('is another one for another key, and in another partition', () => {
    const partitions = Array.from({ length: 50 }, (_, partition) => new PartitionLanes(`orders/${partition}`))
    const keys = Array.from({ length: 2_000 }, (_, id) => Buffer.from(`customer-${id}`))
    const lanes = partitions.flatMap((lanesOf) => keys.map((key) => lanesOf.of(key, 'key')))
    expect(new Set(lanes).size).toBe(100_000)
    expect(lanes.every(Number.isSafeInteger)).toBe(true)
  })

  it('differs for keys of the same bytes and another length, and for bytes that are no text', () => {
    const keys = ['', '00', '0000', '80', 'ff', 'fe', 'ff00', '00ff'].map((hex) => Buffer.from(hex, 'hex'))
    expect(new Set(keys.map((key) => orders.of(key, 'key'))).size).toBe(keys.length)
  })

  it('is a text for a long key, which costs more as a number', () => {
    const [first, second] = ['a', 'b'].map((last) => orders.of(Buffer.from('x'.repeat(64) + last), 'key'))
    expect(first).toBe(`orders/3/${'x'.repeat(64)}a`)
    expect(second).not.toBe(first)
  })

  it('is that of the partition where all of it is in order, and none without order or key', () => {
    const key = Buffer.from('customer-1')
    expect(orders.of(key, 'partition')).toBe('orders/3')
    expect(orders.of(null, 'partition')).toBe('orders/3')
    expect([orders.of(key, 'none'), orders.of(null, 'key')]).toEqual([undefined, undefined])
  })
})
