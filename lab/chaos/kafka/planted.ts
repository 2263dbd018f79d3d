import type { KafkaLike } from 'consume-once/kafkajs'

const COMMITS_OUT_OF = 4

/** The client of a worker; with `commit-high` or `commit-low` it commits other offsets than it is asked to, now and then. */
export function withPlantedCommits(kafka: KafkaLike, planted: string | undefined): KafkaLike {
  if (planted !== 'commit-high' && planted !== 'commit-low') return kafka
  const by = planted === 'commit-high' ? 3n : -1_000n
  let commits = 0
  const moved = (offset: string): string => {
    const other = BigInt(offset) + by
    return (other < 0n ? 0n : other).toString()
  }
  return {
    producer: (config) => kafka.producer(config),
    admin: (config) => kafka.admin(config),
    consumer(config) {
      const consumer = kafka.consumer(config)
      const run = consumer.run.bind(consumer)
      consumer.run = (options) =>
        run({
          ...options,
          eachBatch: (payload) =>
            options.eachBatch({
              ...payload,
              batch: payload.batch,
              commitOffsetsIfNecessary: (request) => {
                commits++
                if (request === undefined || commits % COMMITS_OUT_OF !== 0)
                  return payload.commitOffsetsIfNecessary(request)
                const topics = request.topics.map(({ topic, partitions }) => ({
                  topic,
                  partitions: partitions.map((one) => ({ ...one, offset: moved(one.offset) })),
                }))
                return payload.commitOffsetsIfNecessary({ topics })
              },
            }),
        })
      return consumer
    },
  }
}
