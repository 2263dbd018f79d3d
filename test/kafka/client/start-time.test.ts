import { expect, it } from '@jest/globals'
import { logLevel } from 'kafkajs'
import { runKafka } from '../../../adapters/kafkajs/index.ts'
import { defineConsumer, type Running } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { stoppedAfterEach } from '../../kit/after-each.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { openedOnce } from '../../kit/opened.ts'
import { Cluster } from '../kit.ts'

let cluster: Cluster
const started = stoppedAfterEach<Running>({ deadlineMs: 500 })

openedOnce(Cluster, (made) => (cluster = made))

/** Starts a member, and resolves when it has handled a message. */
async function untilFirst(topic: string, group: string): Promise<{ readonly admins: number; readonly pauses: number }> {
  const counts = { admins: 0, pauses: 0 }
  const client = cluster.client({
    logLevel: logLevel.DEBUG,
    logCreator: () => (entry) => {
      // kafkajs says so before it pauses for a question about a group.
      if (entry.log.message.startsWith('No brokers in the broker pool')) counts.pauses++
    },
  })
  const makeAdmin = client.admin.bind(client)
  client.admin = (config) => {
    counts.admins++
    return makeAdmin(config)
  }
  await new Promise<void>((resolve, reject) => {
    const store = memoryStore()
    const consumer = defineConsumer({
      name: 'sms',
      id: ({ position }) => position,
      store,
      handle: async () => resolve(),
    })
    const starting = runKafka(client, consumer, { topics: [topic], group })
    starting.then((running) => started.push(running), reject)
  })
  return counts
}

it('a start asks all that it asks over one admin client, and waits for no broker that it does not know (K27)', async () => {
  const [topic, group] = [await cluster.topic(2), uniqueName('group')]
  await cluster.send(topic, ['{}'], 0)
  expect(await untilFirst(topic, group)).toEqual({ admins: 1, pauses: 0 })
})

it('so does a second member, which waits for the heartbeat of the first one before it asks again (K27)', async () => {
  const [topic, group] = [await cluster.topic(2), uniqueName('group')]
  const sendEach = async (): Promise<unknown> =>
    Promise.all([0, 1].map((partition) => cluster.send(topic, ['{}'], partition)))
  await sendEach()
  await untilFirst(topic, group)
  const sending = setInterval(() => void sendEach(), 100)
  try {
    const { admins, pauses } = await untilFirst(topic, group)
    expect(pauses).toBe(0)
    expect(admins).toBeLessThanOrEqual(2)
  } finally {
    clearInterval(sending)
  }
})
