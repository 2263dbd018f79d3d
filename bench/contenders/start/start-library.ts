import { defineConsumer, type Store } from 'consume-once'
import { postgresInbox, type PgTransaction } from 'consume-once/pg'
import { redisLease } from 'consume-once/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { CONNECTIONS } from '../clients/postgres-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'
import type { Broker, LoadBroker } from '../library/broker.ts'
import { onTables } from './start-tables.ts'
import { firstMessageAfter, type OneStart } from './starting.ts'

type Run = (job: Job) => Promise<Measurement>

/** The library with leases in Redis. */
export function startOfLease(load: LoadBroker): Run {
  return async (job) => {
    const broker = await load()
    return firstMessageAfter(async (one) => {
      const redis = new Redis(serverOf(one.job, 'redis'))
      const stop = await runOnce(broker, one, redisLease({ redis, prefix: one.group }))
      return async () => {
        await stop()
        await redis.quit()
      }
    })(job)
  }
}

/** The library with an inbox in Postgres. */
export function startOfInbox(load: LoadBroker): Run {
  return async (job) => {
    const broker = await load()
    return onTables(job, (schema) =>
      firstMessageAfter(async (one) => {
        const pool = new Pool({ connectionString: serverOf(one.job, 'postgres'), max: CONNECTIONS })
        const stop = await runOnce(broker, one, postgresInbox({ pool, schema: `${schema}_inbox` }))
        return async () => {
          await stop()
          await pool.end()
        }
      })(job),
    )
  }
}

function runOnce(
  broker: Broker,
  { job, group, handle }: OneStart,
  store: Store | Store<PgTransaction>,
): ReturnType<Broker['run']> {
  const consumer = defineConsumer({
    name: 'bench',
    id: (message) => String(broker.idOf(message)),
    decode: (bytes) => bytes,
    store: store as Store,
    retentionMs: RETENTION_MS,
    handle: ({ message }) => handle(broker.idOf(message)),
  })
  return broker.run({ ...job, name: group }, consumer)
}
