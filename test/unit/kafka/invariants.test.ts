import { RecordingIntake } from '../../kit/recording-intake.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { kafkaSource } from '../../../adapters/kafkajs/client.ts'
import { Assignment } from '../../../adapters/kafka/membership/assignment.ts'
import { Committer } from '../../../adapters/kafka/commits/committer.ts'
import { PartitionEpoch } from '../../../adapters/kafka/membership/partition-epoch.ts'
import { hasCode } from '../../../src/index.ts'
import { type Source } from '../../../src/internal.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { ScriptedKafka, type ScriptedConsumer } from '../../kafka/scripted.ts'

let source: Source
let consumer: ScriptedConsumer
let intake: RecordingIntake

/** A source with partition 0 of `t`, three messages of which are delivered. */
beforeEach(async () => {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.bounds.set('t/0', { low: 0n, high: 100n })
  kafka.committed.set('t/0', 0n)
  source = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), commitEveryMs: 5 }).source
  intake = new RecordingIntake()
  await source.open(intake)
  consumer = kafka.newest
  await consumer.fetch('t/0', 0, [0, 1, 2])
})
afterEach(async () => {
  jest.restoreAllMocks()
  await source.close()
})

/** A bug: the watermark is said to be this one, until it has been found out. */
async function plant(watermark: bigint): Promise<void> {
  const planted = jest.spyOn(PartitionEpoch.prototype, 'watermark', 'get').mockReturnValue(watermark)
  await intake.untilTold('invariant-broken')
  planted.mockRestore()
}

function broken(): readonly unknown[] {
  return intake.events.flatMap((event) => (event.type === 'invariant-broken' ? [event.error] : []))
}

describe('a commit that must not be sent', () => {
  it('over an unfinished message is refused and told, and the partition is read again from its commit', async () => {
    intake.at('0@0').settle()
    intake.at('0@2').settle()
    await intake.untilSettled(1)
    await plant(3n)
    expect(consumer.commits).toEqual(['t/0@1'])
    expect(broken().every((error) => hasCode(error, 'INVARIANT_BROKEN'))).toBe(true)
    expect(source.health().counts).toMatchObject({ 'invariant-broken': 1 })
    expect(intake.at('0@1').settle()).toBe(false)

    while (consumer.seeks.length === 0) await turn()
    expect(consumer.seeks).toEqual(['t/0@1'])
    await consumer.fetch('t/0', 1, [1, 2])
    intake.at('0@1').settle()
    intake.at('0@2').settle()
    await intake.untilSettled(3)
    // The new epoch may commit where it starts, which changes nothing; it never goes back.
    const moves = consumer.commits.filter((commit, at, all) => commit !== all[at - 1])
    expect(moves).toEqual(['t/0@1', 't/0@3'])
  })

  it('back in its epoch is refused and told', async () => {
    for (const delivery of intake.deliveries) delivery.settle()
    await intake.untilSettled(3)
    await plant(1n)
    expect(consumer.commits).toEqual(['t/0@3'])
    expect(intake.told('invariant-broken')).toEqual(['a commit of t/0: back from 3 to 1 (committer.isBroken)'])
  })

  it('of a partition that the last join took away is refused and told, and nothing goes on in its place', () => {
    const assignment = new Assignment()
    assignment.join({ t: [0] })
    const { epochs } = assignment
    const [epoch] = epochs
    epoch?.advanceTo(5n)
    assignment.join({})
    // A bug: it is kept.
    jest.spyOn(assignment, 'epochs', 'get').mockReturnValue(epochs)
    const [sent, told]: [unknown[], string[]] = [[], []]
    const committer = new Committer(assignment, {
      report: () => {},
      onSettled: () => {},
      onBroken: (_, { message }) => told.push(message),
      consumer: () => ({ commitOffsets: async (offsets) => void sent.push(offsets) }),
    })
    committer.tick()
    expect(sent).toEqual([])
    expect(told).toEqual(['a commit of t/0: 5, of join 1 in join 2 (committer.isBroken)'])
    expect(epoch && assignment.end(epoch)).toBe(undefined)
  })

  it('of what was never received is refused', () => {
    const epoch = new PartitionEpoch('t', 0, 1)
    expect(epoch.whyNotCommit(1n)).toBe('1, which was not received')
    epoch.advanceTo(1n)
    expect(epoch.whyNotCommit(1n)).toBe(undefined)
    expect(epoch.whyNotCommit(2n)).toBe('2, which was not received')
  })
})
