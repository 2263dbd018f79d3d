import { describe, it } from '@jest/globals'
import { runKafka } from 'consume-once/kafkajs'
import { describeSourceContract } from '../../testing/contract/source/contract.ts'
import { eventually } from '../../testing/contract/source/driven.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'

const PARTITIONS = 2

describeSourceContract(
  'kafkajs',
  async () => {
    const cluster = await Cluster.open()
    const topic = await cluster.topic(PARTITIONS)
    const options = { ...FAST, topics: [topic], group: uniqueName('group') }
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
      run: (consumer) => runKafka(cluster.client(), consumer, options),
      // A second member comes and goes: two rebalances, in which partitions are kept or lost.
      interrupt: async (running, consumer) => {
        const second = await runKafka(cluster.client(), consumer, options)
        await second.stop()
        await eventually(
          'the first member has all again',
          () => running.health().checks['source'] === `${PARTITIONS} partitions`,
        )
      },
      isSettled: async () => {
        const committed = await cluster.committed(options.group, topic)
        return published.every((count, partition) => count === 0 || committed[partition] === count)
      },
      deadLetters: async () => {
        const name = `${topic}.dead-letter`
        if ((await cluster.highs(name)).every(({ high }) => high === '0')) return []
        const deadLetters = await cluster.read(name, 1)
        return deadLetters.map(({ value, headers }) => ({
          text: String(value),
          reason: String(headers['consume-once-reason']),
        }))
      },
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    }
  },
  { describe, it },
)
