import type { Socket } from 'node:net'
import { describe, it } from '@jest/globals'
import { ConfigResourceTypes } from 'kafkajs'
import type { Running } from 'consume-once'
import { runKafka, type AdaptedKafka, type KafkaLike } from 'consume-once/kafkajs'
import { describeSourceContract } from '../../../testing/contract/source/contract.ts'
import { eventually } from '../../../testing/contract/source/driven.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { Cluster, FAST } from '../kit.ts'

const PARTITIONS = 2

/**
 * The laws of a source, with a client of Kafka.
 *
 * @param clientOf - a client of its own. Its open connections are in `sockets`
 */
export function describeKafkaContract(
  name: string,
  clientOf: (cluster: Cluster, sockets: Set<Socket>) => KafkaLike | AdaptedKafka,
  groupProtocol: 'classic' | 'consumer' = 'classic',
): void {
  describeSourceContract(
    name,
    {
      createHarness: async () => {
        const cluster = await Cluster.open()
        const sockets = new Set<Socket>()
        const client = (): KafkaLike | AdaptedKafka => clientOf(cluster, sockets)
        const others: Running[] = []
        const topic = await cluster.topic(PARTITIONS)
        const consumerConfig = { ...FAST.consumerConfig, groupProtocol }
        const options = { ...FAST, consumerConfig, topics: [topic], group: uniqueName('group') }
        const published = Array.from({ length: PARTITIONS }, () => 0)
        return {
          publish: async (texts) => {
            const byPartition = Array.from({ length: PARTITIONS }, (): string[] => [])
            for (const [at, text] of texts.entries()) byPartition[text.includes('/') ? 0 : at % PARTITIONS]?.push(text)
            for (const [partition, own] of byPartition.entries()) {
              if (own.length === 0) continue
              const messages = own.map((text) => ({
                key: text.includes('/') ? text.slice(0, text.indexOf('/')) : null,
                value: text,
                headers: { 'message-id': text },
              }))
              await cluster.send(topic, messages, partition)
              published[partition] = (published[partition] ?? 0) + own.length
            }
          },
          run: (consumer) => runKafka(client(), consumer, options),
          // A second member comes and goes: two rebalances, in which partitions are kept or lost.
          interrupt: async (running, consumer) => {
            const second = await runKafka(client(), consumer, options)
            await second.stop()
            await eventually(
              'the first member has all again',
              () => running.health().checks['source'] === `${PARTITIONS} partitions`,
            )
            return 'either' // The second member may have had its partition.
          },
          takeAway: async (_running, consumer) => {
            const second = await runKafka(client(), consumer, options)
            others.push(second)
            await eventually('it has one', () => second.health().checks['source']?.startsWith('1 partition') === true)
          },
          disconnect: async () => {
            // Without an error kafkajs would not notice it before its requests time out.
            for (const socket of sockets) socket.destroy(new Error('read ECONNRESET'))
          },
          // A compacted topic takes no message without a key.
          refuseCopies: async () => {
            await setPolicy(cluster, `${topic}.dead-letter`, 'compact')
            return () => setPolicy(cluster, `${topic}.dead-letter`, 'delete')
          },
          isSettled: async () => {
            const committed = await cluster.committed(options.group, topic)
            return published.every((count, partition) => count === 0 || committed[partition] === count)
          },
          deadLetters: async () => {
            const place = `${topic}.dead-letter`
            if ((await cluster.highs(place)).every(({ high }) => high === '0')) return []
            const deadLetters = await cluster.read(place, 1)
            return deadLetters.map(({ key, value, headers }) => ({
              text: String(value),
              reason: String(headers['consume-once-reason']),
              id: headers['message-id'] as string | undefined,
              key: key?.toString(),
            }))
          },
          [Symbol.asyncDispose]: async () => {
            await Promise.all(others.map((running) => running.stop({ deadlineMs: 100 })))
            await cluster[Symbol.asyncDispose]()
          },
        }
      },
    },
    { describe, it },
  )
}

async function setPolicy({ admin }: Cluster, name: string, value: 'compact' | 'delete'): Promise<void> {
  const configEntries = [{ name: 'cleanup.policy', value }]
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name, configEntries }],
  })
}
