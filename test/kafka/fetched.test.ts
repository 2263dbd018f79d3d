import { afterEach, describe, expect, it } from '@jest/globals'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { Cluster } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

describe('what is fetched', () => {
  it('does not cost the membership, however many headers a message has (K23)', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const names = Array.from({ length: 6_000 }, (_, index) => `h${index}`)
    await cluster.send(topic, [{ value: 'a', headers: Object.fromEntries(names.map((name) => [name, name])) }, 'b'])
    const { intake } = await cluster.open({ topics: [topic], group: groupId }, RecordingIntake.settling())
    await cluster.untilCommitted(groupId, topic, [2])
    expect(Object.keys(intake.deliveries[0]?.message.headers ?? {}).toSorted()).toEqual(names.toSorted())
    expect(intake.told('group-joined')).toHaveLength(1)
  })
})
