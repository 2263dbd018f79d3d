import { connect } from 'node:net'
import { expect, it } from '@jest/globals'
import { runKafka } from '../../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { eventually } from '../../kit/eventually.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { openedOnce } from '../../kit/opened.ts'
import { Asked } from './asked.ts'
import { clientOfTests, GROUP_PROTOCOL } from './of-tests.ts'
import { Cluster, FAST } from '../kit.ts'

let cluster: Cluster
openedOnce(Cluster, (made) => (cluster = made))

/** API keys of the protocol. */
const HEARTBEAT = { classic: 12, consumer: 68 }[GROUP_PROTOCOL]
const DEFAULT_MS = 3_000

/** A client whose requests are seen. */
async function clientSeenBy(asked: Asked): Promise<Parameters<typeof runKafka>[0]> {
  if (clientOfTests !== 'kafkajs') return (await import('./platformatic.ts')).platformaticOf(cluster.brokers, asked)
  return cluster.client({
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connect({ host, port }, onConnect)
      asked.add(socket)
      return socket
    },
  })
}

it('heartbeatInterval, beside sessionTimeout, is how often a member sends a heartbeat', async () => {
  const heartbeatInterval = 400
  const [topic, asked] = [await cluster.topic(), new Asked()]
  const idle = defineConsumer({ name: 'idle', store: memoryStore(), handle: () => {} })
  await using running = runKafka(await clientSeenBy(asked), idle, {
    ...FAST,
    topics: [topic],
    group: uniqueName('group'),
    consumerConfig: { ...FAST.consumerConfig, heartbeatInterval },
  })
  await running.ready()
  // The first ones of KIP-848 take a member in, and are sent at once.
  const begun = asked.times(HEARTBEAT).length
  await eventually(() => asked.times(HEARTBEAT).length >= begun + 6)
  const times = asked.times(HEARTBEAT).slice(begun)
  const pauses = times.slice(1).map((at, before) => at - (times[before] ?? 0))
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(heartbeatInterval - 20)
  expect(pauses.toSorted((a, b) => a - b)[2]).toBeLessThan(DEFAULT_MS / 2)
})
