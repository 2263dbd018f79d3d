import { openedOnce } from '../kit/opened.ts'
import { Watching } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { kafkaSubscription, runKafka } from '../../adapters/kafkajs/index.ts'
import { adminOf, defineConsumer, messageId, type Consumer, type ConsumerSettings } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster
const started = stoppedAfterEach()

openedOnce(Cluster, (made) => (cluster = made))

describe('one ID', () => {
  it('on two topics is two messages; what names the first as its origin on the second is one of the second', async () => {
    const [orders, refunds, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
    const watching = new Watching()
    const handled: string[] = []
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header('message-id'),
      store: memoryStore(),
      handle: ({ message }) => handled.push(message.origin),
      observe: watching.observe,
    })
    const headers = { 'message-id': '1' }
    const sent = { key: '1', value: '{}', headers }
    const copy = { ...sent, headers: { ...headers, 'consume-once-origin-topic': orders } }
    await cluster.send(orders, [sent, sent])
    await cluster.send(refunds, [sent, copy, sent])
    const running = await runKafka(cluster.kafka(), consumer, { ...FAST, topics: [orders, refunds], group: groupId })
    await cluster.untilCommitted(groupId, orders, [2])
    await cluster.untilCommitted(groupId, refunds, [3])
    await running.stop()
    // By origin: the copy may come before its original, and then it is the one that is handled.
    expect(handled.toSorted()).toEqual([orders, refunds].toSorted())
    expect(watching.ended('joined') + watching.ended('duplicate')).toBe(3)
  })
})

type Scope = ConsumerSettings<unknown, unknown, never>['scope']

const IDS = ['a', 'b', 'c']

/** A consumer of one store, under any name. */
function deployments(): {
  readonly watching: Watching
  readonly handled: string[]
  readonly as: (name: string, scope?: Scope) => Consumer
} {
  const [store, watching, handled] = [memoryStore(), new Watching(), [] as string[]]
  const as = (name: string, scope?: Scope): Consumer =>
    defineConsumer({
      name,
      id: messageId.header('message-id'),
      store,
      observe: watching.observe,
      ...(scope !== undefined && { scope }),
      handle: ({ message }) => handled.push(String(message.headers['message-id'])),
    })
  return { watching, handled, as }
}

const messages = (ids: readonly string[]): { value: string; headers: { 'message-id': string } }[] =>
  ids.map((id) => ({ value: '{}', headers: { 'message-id': id } }))

describe('after a rename, with the former names in its scope', () => {
  it('a consumer, its group and its topic repeat no effect, and a person finds the records', async () => {
    const [topic, present, former, group] = [
      await cluster.topic(),
      await cluster.topic(),
      uniqueName('former'),
      uniqueName('group'),
    ]
    const { as, handled, watching } = deployments()
    await cluster.send(topic, messages(IDS))
    const before = await runKafka(cluster.kafka(), as('sms'), { ...FAST, topics: [topic], group: former })
    await cluster.untilCommitted(former, topic, [3])
    await before.stop()

    const renamed = as('texts', { name: 'sms', group: former, topics: { [present]: topic } })
    const options = { ...FAST, topics: [topic, present], group }
    // What was copied to the new topic, and the old topic from its beginning: the new group has committed nothing.
    await cluster.send(present, messages([...IDS, 'd']))
    started.push(await runKafka(cluster.kafka(), renamed, options))
    await cluster.untilCommitted(group, topic, [3])
    await cluster.untilCommitted(group, present, [4])
    expect(handled).toEqual([...IDS, 'd'])
    expect(watching.ended('duplicate') + watching.ended('joined')).toBe(6)

    const admin = adminOf(renamed, kafkaSubscription(cluster.kafka(), options))
    expect((await admin.inspect(['a', 'd'])).map(({ state }) => state)).toEqual(['done', 'done'])
    expect(admin.scope).toBe(`${former}/sms`)
  })

  it('the words of RabbitMQ, and a topic that it does not consume, are refused at the start', async () => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    const { as } = deployments()
    const start = async (scope: Scope): Promise<unknown> =>
      runKafka(cluster.kafka(), as('texts', scope), { ...FAST, topics: [topic], group })
    await expect(start({ queue: 'sms' })).rejects.toThrow('scope: expected group or topics on Kafka, got queue')
    await expect(start({ topics: { sms: topic } })).rejects.toThrow(
      `scope.topics: expected topics as they are called now, of ${topic}, got sms`,
    )
    // Nothing is left: the group is free again.
    started.push(await runKafka(cluster.kafka(), as('sms'), { ...FAST, topics: [topic], group }))
  })
})
