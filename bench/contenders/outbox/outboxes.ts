import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { postgresOutbox } from 'consume-once/pg'
import { confirmedPublisher } from 'consume-once/kafkajs'
import {
  getDisabledLogger,
  initializeMessageStorage,
  initializePollingMessageListener,
  type StoredTransactionalMessage,
} from 'pg-transactional-outbox'
import type { Job } from '../../suite.ts'
import { clientOf } from '../clients/kafka-client.ts'
import { createMessageTable, idOf, pollingConfigOf, uuidOf } from '../clients/pg-transactional-outbox.ts'

/** A message of one of 10,000 keys, 1 KB. */
export interface Event {
  readonly id: number
  readonly key: string
  readonly value: string
}

/** An outbox in a schema of the job, and what publishes it to the topic of the job. */
export interface Outboxed {
  /** In a transaction of its own. */
  write(events: readonly Event[]): Promise<void>
  /** `confirmed`: the broker has these messages. */
  start(confirmed: (ids: readonly number[]) => void): Promise<void>
  stop(): Promise<void>
}

export type OpenOutbox = (job: Job, pool: Pool) => Promise<Outboxed>

const BATCH = 500
const POLL_MS = 20

/** What a careful person would write: it looks again at once while there is something, and sends a batch in one request. */
export const byHand: OpenOutbox = async (job, pool) => {
  const table = `${job.name}.outbox`
  await pool.query(`create table ${table} (id bigserial primary key, event int, key text, value text)`)
  const producer = clientOf(job).producer()
  await producer.connect()
  const now = { isOver: false }
  let loop: Promise<void> | undefined
  const publishSome = async (confirmed: (ids: readonly number[]) => void): Promise<boolean> => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const { rows } = await client.query<{ id: string; event: number; key: string; value: string }>(
        `select * from ${table} order by id limit ${BATCH} for update skip locked`,
      )
      if (rows.length > 0) {
        const messages = rows.map(({ event, key, value }) => ({ key, value, headers: { 'message-id': `${event}` } }))
        await producer.send({ topic: job.place, acks: -1, messages })
        confirmed(rows.map(({ event }) => event))
        await client.query(`delete from ${table} where id = any ($1)`, [rows.map(({ id }) => id)])
      }
      await client.query('commit')
      return rows.length > 0
    } finally {
      client.release()
    }
  }
  return {
    async write(events) {
      await pool.query(
        `insert into ${table} (event, key, value) select * from unnest($1::int[], $2::text[], $3::text[])`,
        [events.map(({ id }) => id), events.map(({ key }) => key), events.map(({ value }) => value)],
      )
    },
    async start(confirmed) {
      loop = (async () => {
        while (!now.isOver) if (!(await publishSome(confirmed))) await sleep(POLL_MS)
      })()
    },
    async stop() {
      now.isOver = true
      await loop
      await producer.disconnect()
    },
  }
}

/** As many at once as its polling takes well: more connections were not quicker. */
const AT_ONCE = 16

/** The outbox of pg-transactional-outbox with its polling listener: each message in a transaction of its own, keys in order. */
export const ofPackage: OpenOutbox = async (job, pool) => {
  const config = pollingConfigOf(job, 'outbox', AT_ONCE)
  await createMessageTable(pool, config)
  const store = initializeMessageStorage(config, getDisabledLogger())
  const producer = clientOf(job).producer()
  await producer.connect()
  let stopListening: (() => Promise<void>) | undefined
  return {
    async write(events) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        for (const { id, key, value } of events) {
          const type = { aggregateType: 'bench', messageType: 'sent', aggregateId: key, segment: key }
          await store({ ...type, id: uuidOf(String(id)), payload: { value } }, client)
        }
        await client.query('commit')
      } finally {
        client.release()
      }
    },
    async start(confirmed) {
      const handle = async ({ id, aggregateId: key, payload }: StoredTransactionalMessage): Promise<void> => {
        const messages = [
          { key, value: (payload as { readonly value: string }).value, headers: { 'message-id': idOf(id) } },
        ]
        await producer.send({ topic: job.place, acks: -1, messages })
        confirmed([Number(idOf(id))])
      }
      ;[stopListening] = initializePollingMessageListener(config, { handle }, getDisabledLogger())
    },
    async stop() {
      await stopListening?.()
      await producer.disconnect()
    },
  }
}

/** The library. */
export const ofLibrary: OpenOutbox = async (job, pool) => {
  const publisher = confirmedPublisher(clientOf(job))
  let told: ((ids: readonly number[]) => void) | undefined
  const kafka = {
    async publish(message: { readonly messageId: string }): Promise<void> {
      await publisher.publish(message as never)
      told?.([Number(message.messageId)])
    },
  }
  const outbox = postgresOutbox({ pool, schema: `${job.name}_inbox`, publishers: { kafka } })
  await outbox.open()
  return {
    async write(events) {
      const messages = events.map(({ id, key, value }) => ({ topic: job.place, messageId: `${id}`, key, value }))
      const client = await pool.connect()
      await outbox.publish(client, messages)
      client.release()
      outbox.wake()
    },
    async start(confirmed) {
      told = confirmed
      outbox.start()
    },
    async stop() {
      await outbox.stop(0)
      await publisher.close()
    },
  }
}
