import { redisLease } from 'consume-once/redis'
import type { Job, Measurement } from '../../suite.ts'
import type { LoadBroker } from './broker.ts'
import { withStore, type Settings } from './consume-once.ts'
import type { Handle } from '../handlers.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'

/** The library on Redis. */
export function libraryOnRedis(
  broker: LoadBroker,
  handle: Handle,
  settings: Settings = {},
): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, (redis) => {
      const store = redisLease({ redis, prefix: job.name })
      return withStore(broker, store, handle, { retentionMs: RETENTION_MS, ...settings })(job)
    })
}
