import { openedOnce } from '../kit/opened.ts'
import { Watching } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, messageId } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster

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
