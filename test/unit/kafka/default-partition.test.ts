import { expect, it } from '@jest/globals'
import { Partitioners } from 'kafkajs'
import { defaultPartition } from '../../../adapters/kafka/copies/default-partition.ts'

it('the partition of a key is the one that kafkajs chooses by default', () => {
  const partitionFor = Partitioners.DefaultPartitioner()
  const partitionMetadata = Array.from({ length: 7 }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 1,
    replicas: [1],
    isr: [1],
  }))
  const keys = Array.from({ length: 300 }, (_, at) =>
    Buffer.from(Array.from({ length: at % 13 }, (_byte, index) => (at * 31 + index * 97) % 256)),
  )
  const theirs = keys.map((key) => partitionFor({ topic: 't', partitionMetadata, message: { key, value: null } }))
  expect(keys.map((key) => defaultPartition(key, 7))).toEqual(theirs)
})
