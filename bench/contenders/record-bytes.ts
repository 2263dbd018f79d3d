import { redisLease } from 'consume-once/ioredis'
import { postgresInbox } from 'consume-once/pg'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { startPrivateRedis } from '../../test/support/servers/private-redis.ts'
import { serverOf, type Job, type Measurement } from '../suite.ts'
import { claimItems, claimsIn, expectAll, inBatches, itemsOf } from './store-items.ts'

/** What a marked key takes of a server that holds nothing else: `used_memory`, with what the table of keys takes. */
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

/** What a marked key takes in heap and index. */
export async function bytesInPostgres(job: Job): Promise<Measurement> {
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: 2 })
  const store = postgresInbox({ pool, schema: job.name })
  await store.open()
  try {
    const measurement = await filled(job, 500, async (batch) => {
      expectAll(await store.mark(claimsIn(await claimItems(store, batch, job.name))), 'marked')
    })
    const { rows } = await pool.query(`select pg_table_size($1::regclass) + pg_indexes_size($1::regclass) as bytes`, [
      `${job.name}.inbox`,
    ])
    return { ...measurement, figures: { 'bytes each': Number(rows[0].bytes) / job.messages } }
  } finally {
    await pool.query(`drop schema ${job.name} cascade`)
    await pool.end()
  }
}

async function filled(
  job: Job,
  batchSize: number,
  mark: (batch: ReturnType<typeof itemsOf>) => Promise<void>,
): Promise<Measurement> {
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  for (const batch of inBatches(itemsOf(job.name, job.messages), batchSize)) await mark(batch)
  const { user, system } = process.cpuUsage(cpu)
  return { messages: job.messages, tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 }
}

/** Of connections and scripts: not of records. */
async function bufferBytes(redis: Redis): Promise<number> {
  const info = await redis.info('memory')
  return ['mem_clients_normal', 'used_memory_scripts', 'used_memory_vm_eval'].reduce(
    (sum, name) => sum + Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0),
    0,
  )
}
