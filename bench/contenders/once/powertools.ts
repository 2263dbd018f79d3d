import { setTimeout as sleep } from 'node:timers/promises'
import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import { createClient } from 'redis'
import { serverOf } from '../../suite.ts'
import type { WithOnce } from './with-once.ts'
import { BUSY_POLL_MS, LEASE_MS, RETENTION_MS } from '../clients/redis-times.ts'

interface Event {
  readonly id: string
  readonly run: () => Promise<void>
}

/** Powertools for AWS Lambda, idempotency, its cache persistence through node-redis; no cache in the process. */
export const byPowertools: WithOnce = async (job, consume, leaseMs = LEASE_MS) => {
  // Without a deadline a record that a dead worker left in progress would block its ID until it expires.
  const context = { getRemainingTimeInMillis: (): number => leaseMs }
  const redis = await createClient({ url: serverOf(job, 'redis') }).connect()
  const handle = makeIdempotent(({ run }: Event, _context: typeof context) => run(), {
    persistenceStore: new CachePersistenceLayer({ client: redis }),
    keyPrefix: `${job.name}:`,
    config: new IdempotencyConfig({ eventKeyJmesPath: 'id', expiresAfterSeconds: RETENTION_MS / 1_000 }),
  })
  try {
    return await consume(async (id, run) => {
      for (;;) {
        try {
          return await handle({ id, run }, context)
        } catch (error) {
          // Another delivery of it is under way: acked now, it would be lost if that one failed.
          if (!(error instanceof IdempotencyAlreadyInProgressError)) throw error
          await sleep(BUSY_POLL_MS)
        }
      }
    })
  } finally {
    for await (const keys of redis.scanIterator({ MATCH: `${job.name}:*`, COUNT: 5_000 })) {
      if (keys.length > 0) await redis.unlink(keys)
    }
    redis.destroy()
  }
}
