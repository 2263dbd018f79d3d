import { startPrivateRedis } from '../../../test/kit/servers/private-redis.ts'
import type { Job, Measurement } from '../../suite.ts'
import { pairsAmong } from './redis-store.ts'

/** In a Redis of its own that writes nothing to disk: a snapshot of millions of records beside it would be measured too. */
export function pairsAmongInOwn(records: number, batchSize: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    await using server = await startPrivateRedis({ args: ['--appendonly', 'no'] })
    return await pairsAmong(records, batchSize)({ ...job, servers: { ...job.servers, redis: server.url } })
  }
}
