import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { messageId, type Running } from '../../src/index.ts'
import { CutOffMembers, type CutOffMember } from '../kit/cut-off.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { Cluster, FAST } from './kit.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

const PARTITIONS = 4
const LEAVE_AFTER_MS = 700

let cluster: Cluster
const running = stoppedAfterEach<Running>({ deadlineMs: 100 })

openedOnce(Cluster, (made) => (cluster = made))

async function start({ consumer }: CutOffMember, topic: string, group: string): Promise<Running> {
  const options = { ...FAST, topics: [topic], group, leaveAfterMs: LEAVE_AFTER_MS }
  const one = await runKafka(cluster.kafka(), consumer, options)
  running.push(one)
  return one
}

/** One message to each partition, for each round. */
async function sendRounds(topic: string, name: string, rounds: number): Promise<void> {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const ids = Array.from({ length: rounds }, (_, round) => `${name}-${partition}-${round}`)
    await cluster.send(
      topic,
      ids.map((id) => ({ value: id, headers: { id } })),
      partition,
    )
  }
}

describe('a member of a Kafka group that loses its store', () => {
  it('leaves the group while others have theirs, which handle everything, and joins again when it answers', async () => {
    const [topic, group] = [await cluster.topic(PARTITIONS), uniqueName('group')]
    await using members = new CutOffMembers(messageId.header('id'))
    const [cut, healthy] = [await members.add('cut'), await members.add('healthy')]
    const [one, other] = [await start(cut, topic, group), await start(healthy, topic, group)]
    await eventually(() => [one, other].every((each) => each.health().partitions.length === PARTITIONS / 2))
    await sendRounds(topic, 'before', 1)
    await eventually(() => members.ids.size === PARTITIONS)

    cut.cutOff()
    await sendRounds(topic, 'without', 5)
    await eventually(() => members.ids.size === 6 * PARTITIONS)
    expect(members.handled.filter((told) => told.startsWith('cut: without'))).toEqual([])
    await cluster.untilCommitted(group, topic, Array<number>(PARTITIONS).fill(6))
    expect(one.health()).toMatchObject({
      live: true,
      ready: false,
      checks: { store: 'down', source: expect.stringMatching(/^left the group: the store has been down for 700 ms/) },
      partitions: [],
    })
    expect(await cluster.membersOf(group)).toBe(1)

    cut.mend()
    await eventually(() => one.health().ready && other.health().ready)
    await eventually(() => [one, other].every((each) => each.health().partitions.length === PARTITIONS / 2))
    await sendRounds(topic, 'after', 1)
    await eventually(() => members.ids.size === 7 * PARTITIONS)
    expect(members.handled.some((told) => told.startsWith('cut: after'))).toBe(true)
    expect([cut.watching.told('stepped-aside'), healthy.watching.told('stepped-aside')]).toEqual([1, 0])
    await cluster.untilCommitted(group, topic, Array<number>(PARTITIONS).fill(7))
  }, 60_000)

  it('can be stopped while it is away', async () => {
    const [topic, group] = [await cluster.topic(PARTITIONS), uniqueName('group')]
    await using members = new CutOffMembers(messageId.header('id'))
    const cut = await members.add('cut')
    const one = await start(cut, topic, group)
    cut.cutOff()
    await sendRounds(topic, 'without', 1)
    await cut.watching.untilTold('stepped-aside')
    await one.stop({ deadlineMs: 100 })
    expect(one.health()).toMatchObject({ state: 'stopped', checks: { source: 'stopped' } })
    expect(await cluster.membersOf(group)).toBe(0)
  }, 60_000)

  it('leaves once and joins once when all have lost it, however long that lasts', async () => {
    const [topic, group] = [await cluster.topic(PARTITIONS), uniqueName('group')]
    await using members = new CutOffMembers(messageId.header('id'))
    const all = [await members.add('a'), await members.add('b'), await members.add('c')]
    const runs = [] as Running[]
    for (const member of all) runs.push(await start(member, topic, group))
    await sendRounds(topic, 'before', 1)
    await eventually(() => members.ids.size === PARTITIONS && runs.every((each) => each.health().ready))
    const joinsBefore = all.map(({ watching }) => watching.told('group-joined'))

    for (const { cutOff } of all) cutOff()
    await sendRounds(topic, 'without', 3)
    await Promise.all(all.map(({ watching }) => watching.untilTold('stepped-aside')))
    await eventually(async () => (await cluster.membersOf(group)) === 0)
    // Each has asked its store in vain for longer than it took to leave, and nobody has joined.
    await Promise.all(all.map(({ watching }) => watching.until(() => failuresSince(watching, 'stepped-aside') >= 4)))
    expect(await cluster.membersOf(group)).toBe(0)

    for (const { mend } of all) mend()
    await eventually(() => members.ids.size === 4 * PARTITIONS && runs.every((each) => each.health().ready))
    await cluster.untilCommitted(group, topic, Array<number>(PARTITIONS).fill(4))
    for (const [at, { watching }] of all.entries()) {
      expect([watching.told('stepped-aside'), watching.told('rebuilt')]).toEqual([1, 1])
      // Beside its own join at most one for each other member that leaves, and for each that comes back.
      expect(watching.told('group-joined') - (joinsBefore[at] ?? 0)).toBeLessThanOrEqual(1 + 2 * (all.length - 1))
    }
  }, 60_000)
})

/** Calls of the store that failed after an event of the source. */
function failuresSince({ events }: CutOffMember['watching'], name: string): number {
  const since = events.findIndex((event) => event.type === 'source' && event.event === name)
  return events.slice(since).filter((event) => event.type === 'store-call' && event.error !== undefined).length
}
