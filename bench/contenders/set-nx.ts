import { setTimeout as sleep } from 'node:timers/promises'
import type { WithOnce } from './once.ts'
import { onRedis } from './redis-client.ts'
import { BUSY_POLL_MS, LEASE_MS, RETENTION_MS } from './redis-times.ts'

/** What is written by hand with care, for each message by itself: SET NX before, SET after. No token, no renewal, no digest. */
export const bySetNx: WithOnce = (job, consume) =>
  onRedis(job, (redis) =>
    consume(async (id, run) => {
      const key = `${job.name}:${id}`
      for (;;) {
        const before = await redis.set(key, 'processing', 'PX', LEASE_MS, 'NX', 'GET')
        if (before === 'done') return
        if (before === null) break
        // Another delivery of it is under way: acked now, it would be lost if that one failed.
        await sleep(BUSY_POLL_MS)
      }
      await run()
      await redis.set(key, 'done', 'PX', RETENTION_MS)
    }),
  )
