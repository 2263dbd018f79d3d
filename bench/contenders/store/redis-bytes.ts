import { redisLease } from 'consume-once/redis'
import { Redis } from 'ioredis'
import { startPrivateRedis } from '../../../test/kit/servers/private-redis.ts'
import type { Job, Measurement } from '../../suite.ts'
import { filled } from './filled.ts'
import { claimItems, claimsIn, expectAll } from './store-items.ts'

/** Bytes of a marked key in a server that holds nothing else: `used_memory`, the table of keys included. */
export async function bytesInRedis(job: Job): Promise<Measurement> {
  await using server = await startPrivateRedis({ args: ['--appendonly', 'no'] })
  const redis = new Redis(server.url)
  const store = redisLease({ redis, prefix: 'co' })
  await store.open()
  const used = async (): Promise<number> =>
    Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]) - (await bufferBytes(redis))
  const before = await used()
  const measurement = await filled(job, 100, async (batch) => {
    expectAll(await store.mark(claimsIn(await claimItems(store, batch, job.name))), 'marked')
  })
  const bytes = ((await used()) - before) / job.messages
  await redis.quit()
  return { ...measurement, figures: { 'bytes each': bytes } }
}

/** Bytes of connections and scripts, which are not bytes of records. */
async function bufferBytes(redis: Redis): Promise<number> {
  const info = await redis.info('memory')
  return ['mem_clients_normal', 'used_memory_scripts', 'used_memory_vm_eval'].reduce(
    (sum, name) => sum + Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0),
    0,
  )
}
