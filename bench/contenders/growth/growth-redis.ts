import { setTimeout as sleep } from 'node:timers/promises'
import { redisLease } from 'consume-once/redis'
import { Redis } from 'ioredis'
import { startPrivateRedis } from '../../../test/kit/servers/private-redis.ts'
import type { Job, Measurement } from '../../suite.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'
import { claimItems, claimsIn, expectAll } from '../store/store-items.ts'
import { measuredAmong } from './grown.ts'

/**
 * Claims and marks in a Redis of its own that writes nothing to disk: a snapshot of millions of records beside it would be
 * measured too. `tables`: whether Redis is through with moving its tables to larger ones, or is at it.
 */
export function pairsAmong(
  records: number,
  tables: 'at rest' | 'moving' = 'at rest',
): (job: Job) => Promise<Measurement> {
  return async (job) => {
    await using server = await startPrivateRedis({ args: ['--appendonly', 'no', '--enable-debug-command', 'yes'] })
    const redis = new Redis(server.url)
    const store = redisLease({ redis, prefix: 'grown' })
    await store.open()
    try {
      return await measuredAmong(records, job, {
        batchSize: 100,
        width: 2,
        pids: server.pids,
        pass: async (batch) => {
          expectAll(await store.mark(claimsIn(await claimItems(store, batch, job.name))), 'marked')
        },
        clear: async () => void (await redis.flushall()),
        fill: async (many) => {
          await filled(redis, many)
          if (tables === 'at rest') await untilAtRest(redis)
          else if (!job.isSmoke && !(await isMoving(redis)))
            throw new Error(`${many} keys do not make Redis move its tables`)
        },
        counters: async () => ({}),
      })
    } finally {
      await redis.quit()
    }
  }
}

const PER_CALL = 10_000

async function filled(redis: Redis, records: number): Promise<void> {
  for (let from = 0; from < records; from += PER_CALL) {
    await redis.eval(FILL, 1, 'grown:{07}:', from, Math.min(records, from + PER_CALL), RETENTION_MS)
  }
}

/** It moves more in a second while its timer runs more often. Each look goes through all of a table. */
async function untilAtRest(redis: Redis): Promise<void> {
  await redis.config('SET', 'hz', 500)
  while (await isMoving(redis)) await sleep(1_000)
  await redis.config('SET', 'hz', 10)
}

/** A table that is moved has two parts. */
async function isMoving(redis: Redis): Promise<boolean> {
  return /rehashing target/.test(String(await redis.call('DEBUG', 'HTSTATS', '0')))
}

const FILL = `
for n = tonumber(ARGV[1]), ARGV[2] - 1 do
  local digest = string.sub(redis.sha1hex(n), 1, 22)
  redis.call('SET', KEYS[1] .. digest, 'D|1|1|0|' .. digest .. '|abcdefghijkl|', 'PX', ARGV[3])
end`
