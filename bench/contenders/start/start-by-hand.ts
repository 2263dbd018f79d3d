import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { startConsumer as ackEach } from '../clients/amqplib.ts'
import { startConsumer } from '../clients/kafkajs.ts'
import { idOf } from '../clients/kafka-messages.ts'
import { CONNECTIONS } from '../clients/postgres-client.ts'
import { LEASE_MS, RETENTION_MS } from '../clients/redis-times.ts'
import { onTables } from './start-tables.ts'
import { firstMessageAfter, type OneStart } from './starting.ts'

type Run = (job: Job) => Promise<Measurement>
/** Handles a message, unless it was handled before. */
type Once = (id: string) => Promise<void>

/** kafkajs and a loop over each batch, with SET NX before each message. */
export const eachBatchWithSetNx: Run = firstMessageAfter(async (one) => {
  const { once, close } = bySetNx(one)
  const stop = await inBatches(one, once)
  return async () => {
    await stop()
    await close()
  }
})

/** The same with an inbox row and a transaction for each message. */
export const eachBatchWithRow: Run = (job) =>
  onTables(job, (schema) =>
    firstMessageAfter(async (one) => {
      const pool = new Pool({ connectionString: serverOf(one.job, 'postgres'), max: CONNECTIONS })
      const stop = await inBatches(one, async (id) => {
        const client = await pool.connect()
        await client.query('begin')
        const insert = `insert into ${schema}.inbox (id) values ($1) on conflict do nothing`
        const { rowCount } = await client.query(insert, [`${one.group} ${id}`])
        if (rowCount === 1) await one.handle(id)
        await client.query('commit')
        client.release()
      })
      return async () => {
        await stop()
        await pool.end()
      }
    })(job),
  )

/** amqplib with SET NX before each message. */
export function ackEachWithSetNx(prefetch: number): Run {
  return firstMessageAfter(async (one) => {
    const { once, close } = bySetNx(one)
    const { stop } = await ackEach(one.job, prefetch, {
      handleOne: ({ properties }) => once(String(properties.messageId)),
      acked: () => {},
    })
    return async () => {
      await stop()
      await close()
    }
  })
}

function bySetNx({ job, group, handle }: OneStart): { readonly once: Once; readonly close: () => Promise<unknown> } {
  const redis = new Redis(serverOf(job, 'redis'))
  const once: Once = async (id) => {
    const key = `${group}:${id}`
    if ((await redis.set(key, 'processing', 'PX', LEASE_MS, 'NX')) !== 'OK') return
    await handle(id)
    await redis.set(key, 'done', 'PX', RETENTION_MS)
  }
  return { once, close: () => redis.quit() }
}

/** The messages of a partition one after the other, eight partitions at once. */
async function inBatches({ job, group }: OneStart, once: Once): Promise<() => Promise<void>> {
  const consumer = await startConsumer({ ...job, name: group }, {}, () => ({
    partitionsConsumedConcurrently: 8,
    eachBatch: async (payload) => {
      for (const message of payload.batch.messages) {
        if (!payload.isRunning()) return
        await once(idOf(message))
        payload.resolveOffset(message.offset)
        await payload.heartbeat()
      }
    },
  }))
  return () => consumer.disconnect()
}
