import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { WithOnce } from './with-once.ts'
import { onRedis } from '../clients/redis-client.ts'
import { BUSY_POLL_MS, LEASE_MS, RETENTION_MS } from '../clients/redis-times.ts'

/** Careful code written by hand, for each message by itself: SET NX before, SET after. No token, no renewal, no digest. */
export const bySetNx: WithOnce = (job, consume, leaseMs = LEASE_MS) =>
  onRedis(job, (redis) =>
    consume(async (id, run) => {
      const key = `${job.name}:${id}`
      for (;;) {
        const before = await redis.set(key, 'processing', 'PX', leaseMs, 'NX', 'GET')
        if (before === 'done') return
        if (before === null) break
        // Another delivery of it is under way: acked now, it would be lost if that one failed.
        await sleep(BUSY_POLL_MS)
      }
      await run()
      await redis.set(key, 'done', 'PX', RETENTION_MS)
    }),
  )

/** The same for a batch of distinct IDs, in pipelines: all marks when the last of them has been handled. */
export async function batchBySetNx(
  { redis, name, leaseMs = LEASE_MS }: { readonly redis: Redis; readonly name: string; readonly leaseMs?: number },
  ids: readonly string[],
  run: (id: string) => Promise<void>,
): Promise<void> {
  const claims = redis.pipeline()
  for (const id of ids) claims.set(`${name}:${id}`, 'processing', 'PX', leaseMs, 'NX', 'GET')
  const answers = (await claims.exec()) ?? []
  const marks = redis.pipeline()
  const busy: string[] = []
  for (const [at, id] of ids.entries()) {
    const [error, before] = answers[at] ?? [new Error('expected an answer for each key')]
    if (error !== null) throw error
    if (before === 'done') continue
    if (before === null) {
      await run(id)
      marks.set(`${name}:${id}`, 'done', 'PX', RETENTION_MS)
    } else busy.push(id)
  }
  for (const [error] of (await marks.exec()) ?? []) if (error !== null) throw error
  if (busy.length === 0) return
  await sleep(BUSY_POLL_MS)
  await batchBySetNx({ redis, name, leaseMs }, busy, run)
}
