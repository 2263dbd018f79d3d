import { defineConsumer, type ConsumerSettings } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { Redis } from 'ioredis'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { crashing, type LoadCrashBroker, type Work } from './crash.ts'
import type { LoadOnce } from '../once/once.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'
import { batchBySetNx } from '../once/set-nx.ts'

type Run = (job: Job) => Promise<Measurement>

/** The messages of a killed worker stay claimed this long. */
const LEASE_MS = 3_000

/** Each message by itself, by hand or with another library. */
export function killedEachOnce(load: LoadCrashBroker, loadOnce: LoadOnce): Run {
  return killed(load, (broker) => async (job, effect, end) => {
    const withOnce = await loadOnce()
    await withOnce(job, async (once) => end(await broker.each(job, (id) => once(id, async () => effect(id)))), LEASE_MS)
  })
}

/** Batches by hand, marked at their ends. */
export function killedSetNxLoop(load: LoadCrashBroker, batchSize: number): Run {
  return killed(load, ({ inBatches }) => async (job, effect, end) => {
    if (inBatches === undefined) throw new Error('the broker has no batches')
    const once = { redis: new Redis(serverOf(job, 'redis')), name: job.name, leaseMs: LEASE_MS }
    await end(await inBatches(job, batchSize, (ids) => batchBySetNx(once, ids, async (id) => effect(id))))
  })
}

/** The library. */
export function killedLease(
  load: LoadCrashBroker,
  settings: Pick<ConsumerSettings<unknown, unknown, never>, 'concurrency' | 'onInDoubt'>,
): Run {
  return killed(load, ({ idOf, run }) => async (job, effect, end) => {
    const consumer = defineConsumer({
      ...settings,
      name: 'bench',
      id: (message) => String(idOf(message)),
      decode: (bytes) => bytes,
      store: redisLease({ redis: new Redis(serverOf(job, 'redis')), prefix: job.name }),
      leaseMs: LEASE_MS,
      retentionMs: RETENTION_MS,
      handle: async ({ message }) => effect(idOf(message)),
    })
    await end(await run(job, consumer))
  })
}

/** Keys go when all workers are through. */
function killed(load: LoadCrashBroker, workOn: (broker: Awaited<ReturnType<LoadCrashBroker>>) => Work): Run {
  return async (job) => {
    const broker = await load()
    return crashing(broker, workOn(broker), (supervise) => onRedis(job, () => supervise()))(job)
  }
}
