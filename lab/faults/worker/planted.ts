import { setTimeout as sleep } from 'node:timers/promises'
import type { KafkaLike } from '../../../adapters/kafkajs/index.ts'
import type { BatchPayload } from '../../../adapters/kafka/client.ts'
import type { Store } from '../../../src/index.ts'
import type { MarkVerdict } from '../../../src/internal.ts'
import { withCalls } from '../../../test/kit/store-with.ts'
import type { Planted } from '../settings.ts'

/** A store that confirms marks it has not made: settles come too early, or without any mark. */
export function withPlantedMarks<Tx>(store: Store<Tx>, planted: Planted | undefined): Store<Tx> {
  switch (planted) {
    case undefined:
    case 'commit-highest':
    case 'reads-uncommitted':
      return store
    case 'mark-skipped':
      return withCalls(store, { mark: async (claims) => claims.map((): MarkVerdict => 'marked') })
    case 'ack-before-mark':
      return withCalls(store, {
        mark: async (claims, results) => {
          void sleep(LATE_MS).then(() => store.mark(claims, results))
          return claims.map((): MarkVerdict => 'marked')
        },
      })
  }
}

const LATE_MS = 300

/** A client that commits the highest offset it was given, done or not, and never a lower one. */
export function withPlantedCommits(kafka: KafkaLike, planted: Planted | undefined): KafkaLike {
  if (planted === 'reads-uncommitted') return readingUncommitted(kafka)
  if (planted !== 'commit-highest') return kafka
  return {
    producer: (config) => kafka.producer(config),
    admin: (config) => kafka.admin(config),
    consumer(config) {
      const consumer = kafka.consumer(config)
      const highest = new Map<number, bigint>()
      const raised = <T extends { readonly partition: number; readonly offset: string }>(commit: T): T => {
        const given = highest.get(commit.partition) ?? 0n
        return BigInt(commit.offset) < given ? { ...commit, offset: given.toString() } : commit
      }
      const run = consumer.run.bind(consumer)
      consumer.run = (options) =>
        run({
          ...options,
          eachBatch: async (payload) => {
            const { topic, partition, messages } = payload.batch
            const commit: BatchPayload['commitOffsetsIfNecessary'] = (request) =>
              payload.commitOffsetsIfNecessary(
                request && {
                  topics: request.topics.map((one) => ({ ...one, partitions: one.partitions.map(raised) })),
                },
              )
            highest.set(partition, BigInt(messages.at(-1)?.offset ?? -1) + 1n)
            await options.eachBatch({ ...payload, commitOffsetsIfNecessary: commit })
            await commit({ topics: [{ topic, partitions: [{ partition, offset: '0', metadata: null }] }] })
          },
        })
      const commitOffsets = consumer.commitOffsets.bind(consumer)
      consumer.commitOffsets = (offsets) => commitOffsets(offsets.map(raised))
      return consumer
    },
  }
}

/** A client that also hands over what no producer has committed. */
function readingUncommitted(kafka: KafkaLike): KafkaLike {
  return {
    producer: (config) => kafka.producer(config),
    admin: (config) => kafka.admin(config),
    consumer: (config) => kafka.consumer(Object.assign({}, config, { readUncommitted: true })),
  }
}
