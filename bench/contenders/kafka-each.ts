import type { Job, Measurement } from '../suite.ts'
import { ID_HEADER, Tally } from '../tally.ts'
import type { Handle } from './handlers.ts'
import { consumeAll } from './kafkajs.ts'
import type { LoadOnce } from './once.ts'

const PARTITIONS_AT_ONCE = 8

/** `by-kafkajs`: what is resolved is committed by it, in its own time. `each`: a commit for each message. */
type Commits = 'by-kafkajs' | 'each'

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
