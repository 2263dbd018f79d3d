import { expect, it } from '@jest/globals'
import { kafkaSubscription, runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, messageId, TerminalError, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { planReplay, redrive } from '../../src/replay/index.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

const DAY_MS = 86_400_000

it('works through the dead letters of all topics of a consumer', async () => {
  const topics = [await cluster.topic(), await cluster.topic()]
  const options: KafkaOptions = { ...FAST, topics, group: uniqueName('group'), startAt: 'earliest' }
  const handled: string[] = []
  const fault = { isThere: true }
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.header('id'),
    store: memoryStore(),
    handle: ({ message }) => {
      if (fault.isThere) throw new TerminalError('a bug')
      handled.push(String(message.headers['id']))
    },
  })
  const subscription = kafkaSubscription(cluster.kafka(), options)
  const from = topics.map((topic) => `kafka:${topic}.dead-letter`)
  const looked = async (): Promise<number> => (await redrive(consumer, subscription, {}).result).looked
  const live = async (isOver: () => Promise<boolean>): Promise<void> => {
    const running: Running = await runKafka(cluster.kafka(), consumer, options)
    await eventually(isOver)
    await running.stop()
  }

  for (const [at, topic] of topics.entries()) {
    await cluster.send(
      topic,
      [0, 1, 2].map((n) => ({ value: '{}', headers: { id: `${at}.${n}` } })),
    )
  }
  await live(async () => (await looked()) === 6)
  expect(await redrive(consumer, subscription, { lookAtMost: 4 }).result).toMatchObject({ from, looked: 4 })

  fault.isThere = false
  const why = { dryRun: false, by: 'kim', reason: 'fixed' }
  const result = await redrive(consumer, subscription, why).result
  expect(result).toMatchObject({
    from,
    looked: 6,
    totals: { redriven: 6 },
    destinations: { [topics[0] ?? '']: 3, [topics[1] ?? '']: 3 },
  })
  await live(async () => handled.length === 6)
  expect(handled.toSorted()).toEqual(['0.0', '0.1', '0.2', '1.0', '1.1', '1.2'])
})

it('a plan has what was sent behind a message whose clock is a day ahead', async () => {
  const topic = await cluster.topic()
  const at = Date.now() - 2 * DAY_MS // The broker refuses timestamps in the future.
  const times = [at, at + DAY_MS, at + 1]
  await cluster.send(
    topic,
    times.map((time) => ({ value: '{}', headers: { id: String(time) }, timestamp: String(time) })),
  )
  const consumer = defineConsumer({ name: 'sms', id: messageId.header('id'), store: memoryStore(), handle: () => {} })
  const subscription = kafkaSubscription(cluster.kafka(), { ...FAST, topics: [topic], group: uniqueName('group') })
  const asked = { from: `kafka:${topic}`, since: at, until: at + 1_000 }
  const { buckets, warnings } = await planReplay(consumer, subscription, asked).result
  expect([buckets.unknown.count, buckets.filtered.count]).toEqual([2, 1])
  expect(warnings).toEqual([expect.stringContaining('read to its end')])
})
