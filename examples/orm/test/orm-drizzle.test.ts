import { sql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { integer, pgSchema, serial, text, timestamp } from 'drizzle-orm/pg-core'
import { pgClient } from '../../../adapters/pg/index.ts'
import { describeOrm, type OrmTransaction } from './orm.ts'

describeOrm('Drizzle', async ({ schema }) => {
  const charge = pgSchema(schema).table('charge', {
    id: serial().primaryKey(),
    payment: text().notNull(),
    cents: integer().notNull().default(1250),
    at: timestamp({ withTimezone: true }).notNull().defaultNow(),
  })
  const within = (db: Pick<NodePgDatabase, 'insert' | 'transaction'>): OrmTransaction => ({
    insert: async (payment) => db.insert(charge).values({ payment }),
    nested: (work) => db.transaction((inner) => work(within(inner))),
  })
  return {
    insert: (tx, payment) => within(drizzle(pgClient(tx))).insert(payment),
    all: (tx) => drizzle(pgClient(tx)).select().from(charge).orderBy(charge.id),
    setCents: async (tx, cents) => (await drizzle(pgClient(tx)).update(charge).set({ cents })).rowCount ?? 0,
    stall: (tx, seconds) => drizzle(pgClient(tx)).execute(sql`select pg_sleep(${seconds})`),
    transaction: (tx, work) => drizzle(pgClient(tx)).transaction((trx) => work(within(trx))),
    serializable: (tx, work) =>
      drizzle(pgClient(tx)).transaction((trx) => work(within(trx)), { isolationLevel: 'serializable' }),
  }
})
