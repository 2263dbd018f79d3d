import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import type { StoredPositions } from '../../src/internal.ts'
import { uniqueName } from '../kit/namespace.ts'
import { clientOfTests } from './client/of-tests.ts'
import { Cluster } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

/** A pipeline whose store has one position, of a message that nothing distinguishes. */
class StoredIntake extends RecordingIntake {
  readonly storedPositions: StoredPositions
  override onDeliver = (delivery: { settle(): boolean }): void => void delivery.settle()

  constructor(stream: string, position: bigint) {
    super()
    this.storedPositions = {
      next: async () => new Map([[stream, { next: position }]]),
      hold: async () => {},
      prove: async () => {},
    }
  }
}

describe('a stored position', () => {
  it('is what the group has in the end, also if it had an offset beyond the end, which kafkajs resets to -2', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['a', 'b', 'c', 'd', 'e', 'f'])
    await cluster.admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '1000' }] })
    const intake = new StoredIntake(`${topic}/0`, 2n)
    await cluster.open({ topics: [topic], group: groupId }, intake)
    await cluster.untilCommitted(groupId, topic, [6])
    expect(intake.positions).toEqual(['0@2', '0@3', '0@4', '0@5'])
    const history = (await cluster.commitHistory(groupId)).get(`${topic}/0`)
    expect(history?.includes(-2)).toBe(clientOfTests === 'kafkajs')
  })
})
