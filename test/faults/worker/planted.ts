import { setTimeout as sleep } from 'node:timers/promises'
import type { KafkaLike } from '../../../adapters/kafkajs/index.ts'
import type { MarkVerdict, Store } from '../../../src/index.ts'
import type { Planted } from './settings.ts'

/** A store that lies about its marks: settles then come too early, or are never backed by anything. */
export function withPlantedMarks<Tx>(store: Store<Tx>, planted: Planted | undefined): Store<Tx> {
  switch (planted) {
    case undefined:
    case 'commit-highest':
      return store
    case 'mark-skipped':
      return { ...methodsOf(store), mark: async (claims) => claims.map((): MarkVerdict => 'marked') }
    case 'ack-before-mark':
      return {
        ...methodsOf(store),
        mark: async (claims, results) => {
          void sleep(LATE_MS).then(() => store.mark(claims, results))
          return claims.map((): MarkVerdict => 'marked')
        },
      }
  }
}

const LATE_MS = 300

/** A client that commits all that it was given, done or not. */
export function withPlantedCommits(kafka: KafkaLike, planted: Planted | undefined): KafkaLike {
  if (planted !== 'commit-highest') return kafka
  return {
    producer: (config) => kafka.producer(config),
    admin: (config) => kafka.admin(config),
    consumer(config) {
      const consumer = kafka.consumer(config)
      const run = consumer.run.bind(consumer)
      consumer.run = (options) =>
        run({
          ...options,
          eachBatch: async (payload) => {
            await options.eachBatch(payload)
            const { topic, partition, messages } = payload.batch
            const next = BigInt(messages.at(-1)?.offset ?? -1) + 1n
            await payload.commitOffsetsIfNecessary({
              topics: [{ topic, partitions: [{ partition, offset: next.toString() }] }],
            })
          },
        })
      return consumer
    },
  }
}

function methodsOf<Tx>(store: Store<Tx>): Store<Tx> {
  return {
    strategy: store.strategy,
    open: () => store.open(),
    claim: (request) => store.claim(request),
    renew: (claims, leaseMs) => store.renew(claims, leaseMs),
    mark: (claims, results) => store.mark(claims, results),
    release: (claims, how) => store.release(claims, how),
    setAside: (claims, as, reason) => store.setAside(claims, as, reason),
  }
}
