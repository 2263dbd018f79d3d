import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Measurement } from '../suite.ts'
import { Tally } from '../tally.ts'
import { consumeAll } from './amqplib.ts'
import type { Handle } from './handlers.ts'
import { LEASE_MS, onRedis, RETENTION_MS } from './redis-client.ts'

const BUSY_POLL_MS = 10

/** What a careful worker of RabbitMQ does by hand: SET NX before, SET after, then ack, for each message by itself. */
export function setNxEach(handle: Handle, prefetch: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, (redis) => {
      const tally = new Tally(job)
      return consumeAll(job, tally, prefetch, async ({ properties }) => {
        const id: unknown = properties.messageId
        const key = `${job.name}:${String(id)}`
        for (;;) {
          const before = await redis.set(key, 'processing', 'PX', LEASE_MS, 'NX', 'GET')
          if (before === 'done') return
          if (before === null) break
          // Another delivery of it is under way: acked now, it would be lost if that one failed.
          await sleep(BUSY_POLL_MS)
        }
        tally.started(id)
        await handle()
        await redis.set(key, 'done', 'PX', RETENTION_MS)
      })
    })
}
