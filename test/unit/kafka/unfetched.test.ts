import { describe, expect, it } from '@jest/globals'
import { unfetchedOf } from '../../../adapters/kafka/intake/partition-health.ts'
import { PartitionEpoch } from '../../../adapters/kafka/membership/partition-epoch.ts'

/** A partition whose offsets up to 2 were fetched and handled, of 5 in the log. */
function handledUpTo2(): PartitionEpoch {
  const epoch = new PartitionEpoch('t', 3, 1)
  epoch.isLive = true
  epoch.high = 5n
  epoch.advanceTo(2n)
  return epoch
}

describe('a partition has messages that nobody fetches', () => {
  it('if its last batch told of more, and nothing of it is under way', () => {
    const epoch = handledUpTo2()
    expect(unfetchedOf(epoch)).toEqual({ place: 't/3', item: epoch, step: 2n, position: '3@2' })
  })

  it.each<[string, (epoch: PartitionEpoch) => void]>([
    ['nothing is known of it', (epoch) => (epoch.high = undefined)],
    ['everything was fetched', (epoch) => epoch.advanceTo(5n)],
    ['a message is in flight', (epoch) => void epoch.receive(2n, 10)],
    ['a message waits to be taken', (epoch) => epoch.fetched([{ offset: '2' } as never], 3n)],
    ['it is paused', (epoch) => void epoch.holds.add('full')],
    ['its position is not checked yet', (epoch) => (epoch.isUnchecked = true)],
  ])('but not while %s', (_what, so) => {
    const epoch = handledUpTo2()
    so(epoch)
    expect(unfetchedOf(epoch)).toBeUndefined()
  })
})
