import type { Socket } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import type { GroupMember, MemberConfig, MemberListener } from '../../adapters/kafka/client.ts'
import { Asked } from '../kafka/client/asked.ts'
import { platformaticOf } from '../kafka/client/platformatic.ts'
import { Cluster } from '../kafka/kit.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

const nothing = (): void => {}
const LISTENER: MemberListener = {
  batch: async () => {},
  controlBatch: nothing,
  joined: nothing,
  changed: nothing,
  revoking: async () => {},
  rebalancing: nothing,
  fetchFailed: nothing,
  turned: nothing,
  lookedAway: nothing,
  halted: nothing,
  ended: nothing,
}
const FAST: Partial<MemberConfig> = {
  sessionTimeout: 6_000,
  heartbeatInterval: 100,
  maxWaitTimeInMs: 100,
  metadataMaxAge: 200,
}

/** What a member tells, in order. */
async function begun(
  topic: string,
  consumerConfig: MemberConfig,
  sockets?: Set<Socket>,
): Promise<{ readonly member: GroupMember; readonly told: readonly string[] }> {
  const told: string[] = []
  const member = await platformaticOf(cluster.brokers, sockets).member(
    {
      topics: [topic],
      consumerConfig: { ...FAST, ...consumerConfig },
      partitionsConsumedConcurrently: 1,
      companions: undefined,
      report: nothing,
    },
    {
      ...LISTENER,
      batch: async (payload) => {
        payload.resolveOffset(payload.batch.lastOffset())
        told.push('batch')
      },
      joined: () => void told.push('joined'),
      rebalancing: () => void told.push('rebalancing'),
      ended: ({ message }) => void told.push(message),
    },
  )
  await member.start()
  return { member, told }
}

/** API keys of the protocol: they are in each request behind its length. */
const [FETCH, LIST_OFFSETS, OFFSET_FETCH, JOIN_GROUP] = [1, 2, 9, 11]

describe('a member of @platformatic/kafka', () => {
  it('leaves its group at once when it ends by itself: nobody else could have its partitions while it is a member', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { member, told } = await begun(topic, { groupId })
    await cluster.send(topic, ['seen'])
    await eventually(() => told.includes('batch'))
    expect(await cluster.membersOf(groupId)).toBe(1)
    await cluster.admin.deleteTopics({ topics: [topic] })
    const again = { topics: [{ topic, numPartitions: 1 }] }
    await eventually(async () => cluster.admin.createTopics(again).catch(() => false))
    await eventually(() => told.includes(`topic ${topic} was created anew`))
    await eventually(async () => (await cluster.membersOf(groupId)) === 0)
    await member.stop()
  }, 60_000)

  it('fetches, and asks for offsets, on other connections than it joins on: a broker answers in order, and a join waits there', async () => {
    const [topic, groupId, sockets] = [await cluster.topic(), uniqueName('group'), new Asked()]
    const { member } = await begun(topic, { groupId }, sockets)
    const sent = (key: number): boolean => sockets.beside(key).size > 0
    await eventually(() => [FETCH, LIST_OFFSETS, OFFSET_FETCH, JOIN_GROUP].every(sent))
    const beside = sockets.beside(JOIN_GROUP)
    expect([FETCH, LIST_OFFSETS, OFFSET_FETCH].filter((key) => beside.has(key))).toEqual([])
    expect(sockets.beside(FETCH).has(OFFSET_FETCH)).toBe(false)
    await member.stop()
  })
})
