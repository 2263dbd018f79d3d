import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { describe, expect, it } from '@jest/globals'
import { runKafka, type AdaptedKafka, type KafkaLike, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, type Running, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { itOnKafkajs } from './client/it-on.ts'
import { clientOfTests } from './client/of-tests.ts'
import { Cluster, FAST } from './kit.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

let cluster: Cluster
const started = stoppedAfterEach<Running>()

openedOnce(Cluster, (made) => (cluster = made))

async function run(
  kafka: KafkaLike | AdaptedKafka,
  options: KafkaOptions,
  handled: string[],
  store: Store = memoryStore(),
): Promise<Running> {
  const consumer = defineConsumer({
    name: 'sms',
    id: ({ value }) => value ?? undefined,
    store,
    decode: (value) => String(value),
    handle: ({ message }) => void handled.push(String(message.value)),
  })
  const running = await runKafka(kafka, consumer, { ...FAST, ...options })
  started.push(running)
  return running
}

describe('several consumers of one process', () => {
  const ids = Array.from({ length: 40 }, (_, index) => `m${index}`)

  it('of several groups share a client, and each gets all; one that stops takes nothing from the others', async () => {
    const [topic, kafka] = [await cluster.topic(2), cluster.kafka()]
    const [one, two, three] = [uniqueName('one'), uniqueName('two'), uniqueName('three')]
    const [ofOne, ofTwo, ofThree]: string[][] = [[], [], []] as string[][]
    const first = await run(kafka, { topics: [topic], group: one }, ofOne ?? [])
    await run(kafka, { topics: [topic], group: two }, ofTwo ?? [])
    await run(kafka, { topics: [topic], group: three, order: 'partition' }, ofThree ?? [])
    await cluster.send(topic, ids.slice(0, 20))
    for (const groupId of [one, two, three]) await cluster.untilCommitted(groupId, topic, [20, -1])
    await first.stop()
    await cluster.send(topic, ids.slice(20), 1)
    for (const groupId of [two, three]) await cluster.untilCommitted(groupId, topic, [20, 20])
    expect(ofOne?.toSorted()).toEqual(ids.slice(0, 20).toSorted())
    for (const handled of [ofTwo, ofThree]) expect(handled?.toSorted()).toEqual(ids.toSorted())
  })

  it('of one group, with kafkajs each with its own client, share the partitions', async () => {
    const [topic, groupId, store] = [await cluster.topic(2), uniqueName('group'), memoryStore()]
    const handled: string[] = []
    const shared = cluster.kafka()
    const [first, second] = [
      await run(shared, { topics: [topic], group: groupId }, handled, store),
      await run(
        clientOfTests === 'kafkajs' ? cluster.kafka() : shared,
        { topics: [topic], group: groupId },
        handled,
        store,
      ),
    ]
    await eventually(async () => [first, second].every((one) => one.health().partitions.length === 1))
    await cluster.send(topic, ids.slice(0, 20))
    await cluster.send(topic, ids.slice(20), 1)
    await cluster.untilCommitted(groupId, topic, [20, 20])
    expect(handled.toSorted()).toEqual(ids.toSorted())
  })

  it('of one group, more than there are partitions: the one without a partition is ready, says so, and takes over', async () => {
    const [topic, group, store] = [await cluster.topic(), uniqueName('group'), memoryStore()]
    const handled: string[] = []
    const both = [
      await run(cluster.kafka(), { topics: [topic], group }, handled, store),
      await run(cluster.kafka(), { topics: [topic], group }, handled, store),
    ]
    const sources = (): readonly string[] => both.map((one) => String(one.health().checks['source']))
    await eventually(() => sources().toSorted().join('; ') === '1 partition; joined, no partition assigned')
    expect(both.map((one) => one.health().ready)).toEqual([true, true])
    const [busy, idle] = sources()[0] === '1 partition' ? both : both.toReversed()
    await busy?.stop()
    await eventually(() => idle?.health().checks['source'] === '1 partition')
    await cluster.send(topic, ['last'])
    await eventually(() => handled.includes('last'))
  })

  itOnKafkajs('of one group do not share a client: kafkajs keeps the offsets of a group per client', async () => {
    const [topic, groupId, kafka] = [await cluster.topic(2), uniqueName('group'), cluster.kafka()]
    await run(kafka, { topics: [topic], group: groupId }, [])
    await expect(run(kafka, { topics: [topic], group: groupId }, [])).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('expected a client of its own for each member of a group'),
    })
  })
})
