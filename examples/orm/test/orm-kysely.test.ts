import { Kysely, PostgresDialect, sql, type ColumnType, type ControlledTransaction, type Generated } from 'kysely'
import { pgClient, type PgTransaction } from '../../../adapters/pg/index.ts'
import { describeOrm, type OrmTransaction } from './orm.ts'

interface Database {
  readonly charge: {
    id: Generated<number>
    payment: string
    cents: Generated<number>
    at: ColumnType<Date, never, never>
  }
}

describeOrm('Kysely', async ({ schema }) => {
  const over = (tx: PgTransaction): Kysely<Database> =>
    new Kysely<Database>({ dialect: new PostgresDialect({ pool: pgClient(tx) }) }).withSchema(schema)
  return {
    insert: (tx, payment) => within(over(tx)).insert(payment),
    all: (tx) => over(tx).selectFrom('charge').selectAll().orderBy('id').execute(),
    setCents: async (tx, cents) => {
      const [result] = await over(tx).updateTable('charge').set({ cents }).execute()
      return Number(result?.numUpdatedRows)
    },
    stall: (tx, seconds) => sql`select pg_sleep(${seconds})`.execute(over(tx)),
    transaction: async (tx, work) => {
      const trx = await over(tx).startTransaction().execute()
      try {
        await work(controlled(trx, 1))
        await trx.commit().execute()
      } catch (error) {
        await trx.rollback().execute()
        throw error
      }
    },
    serializable: (tx, work) =>
      over(tx)
        .transaction()
        .setIsolationLevel('serializable')
        .execute((trx) => work(within(trx))),
  }
})

function within(db: Kysely<Database>): OrmTransaction {
  return { insert: (payment) => db.insertInto('charge').values({ payment }).execute() }
}

/** Kysely nests by savepoints that are named. */
function controlled(trx: ControlledTransaction<Database, string[]>, depth: number): OrmTransaction {
  return {
    ...within(trx),
    nested: async (work) => {
      const name = `depth_${depth}`
      const inner = await trx.savepoint(name).execute()
      try {
        await work(controlled(inner, depth + 1))
      } catch (error) {
        await inner.rollbackToSavepoint(name).execute()
        throw error
      }
      await inner.releaseSavepoint(name).execute()
    },
  }
}
