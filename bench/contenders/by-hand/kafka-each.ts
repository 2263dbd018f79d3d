import type { KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import type { Handle } from '../handlers.ts'
import { consumeAll } from '../clients/kafkajs.ts'
import type { LoadOnce } from '../once/once.ts'

const PARTITIONS_AT_ONCE = 8

/** `by-kafkajs`: kafkajs commits resolved offsets in its own time. `each`: a commit for each message. */
type Commits = 'by-kafkajs' | 'each'

/** As `eachOnce`, and reports the messages of a fetch before the first of them is handled. */
export function eachOnceOfBatches(
  load: LoadOnce,
  handle: Handle,
  arrived: (id: string) => void,
): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const withOnce = await load()
    const tally = new Tally(job)
    return withOnce(job, (once) =>
      consumeAll(job, tally, () => ({
        partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
        eachBatch: async (payload) => {
          const { messages } = payload.batch
          tally.arrived()
          for (const message of messages) arrived(idOf(message))
          for (const message of messages) {
            await once(idOf(message), async () => {
              tally.started(idOf(message))
              await handle()
            })
            payload.resolveOffset(message.offset)
            await payload.heartbeat()
            tally.ended(1)
          }
        },
      })),
    )
  }
}

const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])

/** A loop by hand, or another library in it: each message by itself, one at a time in each partition. */
export function eachOnce(
  load: LoadOnce,
  handle: Handle,
  commits: Commits = 'by-kafkajs',
): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const withOnce = await load()
    const tally = new Tally(job)
    return withOnce(job, (once) =>
      consumeAll(job, tally, (consumer) => ({
        partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
        autoCommit: commits === 'by-kafkajs',
        eachMessage: async ({ topic, partition, message: { headers, offset } }) => {
          tally.arrived()
          await once(String(headers?.[ID_HEADER]), async () => {
            tally.started(headers?.[ID_HEADER])
            await handle()
          })
          if (commits === 'each') {
            await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(offset) + 1n) }])
          }
          tally.ended(1)
        },
      })),
    )
  }
}
