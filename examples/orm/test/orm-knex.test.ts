import knex, { type Knex } from 'knex'
import { pgClient, type PgTransaction } from '../../../adapters/pg/index.ts'
import { describeOrm, type Charge, type OrmTransaction } from './orm.ts'

describeOrm('Knex', async ({ schema }) => {
  const db = knex({ client: 'pg' })
  const within = (trx: Knex): OrmTransaction => ({
    insert: async (payment) => trx.withSchema(schema).insert({ payment }).into('charge'),
    nested: (work) => trx.transaction((inner) => work(within(inner))),
  })
  const over = <T>(tx: PgTransaction, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> =>
    db.transaction(work, { connection: pgClient(tx) })
  return {
    insert: (tx, payment) => over(tx, (trx) => within(trx).insert(payment)),
    all: (tx) => over(tx, async (trx) => trx.withSchema(schema).select<Charge[]>().from('charge').orderBy('id')),
    setCents: (tx, cents) => over(tx, async (trx) => trx.withSchema(schema).from('charge').update({ cents })),
    stall: (tx, seconds) => over(tx, async (trx) => trx.raw('select pg_sleep(?)', [seconds])),
    transaction: (tx, work) => over(tx, (trx) => work(within(trx))),
    serializable: (tx, work) =>
      db.transaction((trx) => work(within(trx)), { connection: pgClient(tx), isolationLevel: 'serializable' }),
  }
})
