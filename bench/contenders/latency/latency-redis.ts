import { defineConsumer } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import type { Job, Measurement } from '../../suite.ts'
import type { LoadBroker } from '../library/broker.ts'
import { consumeAllOnce } from '../library/consume-once.ts'
import { pacedLibrary } from './latency-library.ts'
import type { LoadLine } from './pace.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'

/** The library on Redis. */
export function pacedLease(line: LoadLine, perSecond: number, load: LoadBroker): (job: Job) => Promise<Measurement> {
  return pacedLibrary(line, perSecond, load, ({ job, broker, tally, settings }) =>
    onRedis(job, (redis) => {
      const consumer = defineConsumer({
        ...settings,
        store: redisLease({ redis, prefix: job.name }),
        retentionMs: RETENTION_MS,
        handle: async ({ message }) => tally.started(broker.idOf(message)),
      })
      return consumeAllOnce(broker, job, tally, consumer)
    }),
  )
}
