import { randomBytes } from 'node:crypto'
import { defineConsumer, type Claim } from 'consume-once'
import { postgresInbox, type PgTransaction } from 'consume-once/pg'
import type { KafkaMessage } from 'kafkajs'
import { Pool } from 'pg'
import { serverOf, type Job, type Measurement } from '../suite.ts'
import { ID_HEADER, Tally } from '../tally.ts'
import { consumeAll } from './amqplib.ts'
import type { Broker } from './broker.ts'
import { commonSettings, consumeAllOnce } from './consume-once.ts'
import { consumeInBatches, distinct } from './kafkajs.ts'
import { itemOf } from './redis.ts'

const CONNECTIONS = 8

type Query = (text: string, values: unknown[]) => Promise<unknown>

/** The effect: a row for each message, all in one statement. */
async function writeEffects(query: Query, job: Job, ids: readonly string[]): Promise<void> {
  await query(`insert into ${job.name}.effect (id, text) select id, 'sent' from unnest($1::text[]) as id`, [ids])
}

/** The library on Postgres, effect and mark of a batch in one transaction. */
export function libraryOnPostgres(broker: Broker, batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, (pool) => {
      const tally = new Tally(job)
      const consumer = defineConsumer({
        ...commonSettings(broker, tally),
        store: postgresInbox({ pool, schema: `${job.name}_inbox` }),
        batchSize,
        handleBatch: async ({ messages, tx }) => {
          const ids = messages.map(({ message }) => String(broker.idOf(message)))
          for (const id of ids) tally.started(id)
          await writeEffects(tx.query, job, ids)
        },
      })
      return consumeAllOnce(broker, job, tally, consumer)
    })
}

/** A loop by hand over the same store: claims a batch, writes its effects in the same transaction, commits. */
export function loopOverInbox(batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      const store = postgresInbox({ pool, schema: `${job.name}_inbox` })
      await store.open()
      const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
        const messages = distinct(batch)
        const answers = await store.claim({
          scope: job.name,
          token: randomBytes(9).toString('base64url'),
          leaseMs: 30_000,
          retentionMs: 86_400_000,
          alone: false,
          items: messages.map(itemOf),
        })
        const ids: string[] = []
        const claims: Claim<PgTransaction>[] = []
        for (const [at, message] of messages.entries()) {
          const answer = answers[at]
          if (answer?.verdict === 'done') continue
          if (answer?.verdict !== 'claimed') throw new Error(`expected a claim, got ${answer?.verdict}`)
          ids.push(idOf(message))
          claims.push(answer.claim)
        }
        if (claims.length > 0) await handleClaimed(claims, ids)
        tally.ended(batch.length)
      }
      const handleClaimed = async (claims: readonly Claim<PgTransaction>[], ids: readonly string[]): Promise<void> => {
        const lent = claims[0]?.transaction?.lend()
        if (lent === undefined) throw new Error('expected a transaction')
        for (const id of ids) tally.started(id)
        await writeEffects(lent.tx.query, job, ids)
        lent.revoke()
        const verdicts = await store.mark(claims)
        if (verdicts.some((verdict) => verdict !== 'marked')) throw new Error(`not marked: ${verdicts.join(' ')}`)
      }
      return consumeInBatches(job, tally, batchSize, handleBatch)
    })
}

/** What is written by hand: rows into an inbox table, effects, COMMIT. No attempts, no digest. */
export function insertLoop(batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(inboxTable(job))
      const insert = `insert into ${job.name}.inbox (id) select id from unnest($1::text[]) as id
        on conflict do nothing returning id`
      const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
        const client = await pool.connect()
        await client.query('begin')
        const inserted = await client.query<{ id: string }>(insert, [distinct(batch).map(idOf)])
        const ids = inserted.rows.map(({ id }) => id)
        for (const id of ids) tally.started(id)
        if (ids.length > 0) await writeEffects((text, values) => client.query(text, values), job, ids)
        await client.query('commit')
        client.release()
        tally.ended(batch.length)
      }
      return consumeInBatches(job, tally, batchSize, handleBatch)
    })
}

/** What a careful worker of RabbitMQ does by hand: inbox row, effect, COMMIT, ack, for each message by itself. */
export function insertEach(prefetch: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(inboxTable(job))
      const insert = `insert into ${job.name}.inbox (id) values ($1) on conflict do nothing`
      return consumeAll(job, tally, prefetch, async ({ properties }) => {
        const id = String(properties.messageId)
        const client = await pool.connect()
        await client.query('begin')
        const { rowCount } = await client.query(insert, [id])
        // Where another delivery of it is under way, the insert has waited for its end.
        if (rowCount === 1) {
          tally.started(id)
          await client.query(`insert into ${job.name}.effect (id, text) values ($1, 'sent')`, [id])
        }
        await client.query('commit')
        client.release()
      })
    })
}

const inboxTable = ({ name }: Job): string =>
  `create table ${name}.inbox (id text primary key, at timestamptz not null default now())`

const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])

/** In schemas of its own, which it removes; checks the effects that were committed. */
async function onPostgres(job: Job, run: (pool: Pool) => Promise<Measurement>): Promise<Measurement> {
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: CONNECTIONS })
  await pool.query(`create schema ${job.name}`)
  try {
    await pool.query(`create table ${job.name}.effect (id text not null, text text not null)`)
    const measurement = await run(pool)
    const { rows } = await pool.query(
      `select count(*)::int as rows, count(distinct id)::int as ids from ${job.name}.effect`,
    )
    const [{ rows: effects, ids } = { rows: 0, ids: 0 }] = rows as { rows: number; ids: number }[]
    if (effects !== job.ids || ids !== job.ids) {
      throw new Error(`of ${job.ids} effects: ${effects} rows, ${ids} distinct`)
    }
    return measurement
  } finally {
    await pool.query(`drop schema ${job.name} cascade; drop schema if exists ${job.name}_inbox cascade`)
  }
}
