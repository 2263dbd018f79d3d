import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgSchema, text } from 'drizzle-orm/pg-core'
import knex, { type Knex } from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { DataSource, EntitySchema, type EntityManager } from 'typeorm'
import { pgClient, type PgTransaction } from '../../../adapters/pg/index.ts'
import { server } from '../../../test/kit/servers/server.ts'
import { describeFloating } from './floating.ts'

const row = { payment: 'one' }
const close = async (): Promise<void> => {}

describeFloating('what a handler asks of ctx.tx, and does not await', async () => ({ close }), [
  ['a query', 'caught', (tx, _, { leave }) => leave(tx.query('select pg_sleep(0.01)'))],
  [
    'a query that comes late',
    'told too late',
    (tx, _, { leave, settled }) => leave(settled.then(() => tx.query('select 1'))),
  ],
])

const newDrizzle = async ({ schema }: { readonly schema: string }) => {
  const charge = pgSchema(schema).table('charge', { payment: text().notNull() })
  return { insert: (db: Pick<NodePgDatabase, 'insert'>) => db.insert(charge).values(row), close }
}

describeFloating('what a handler asks of Drizzle, and does not await', newDrizzle, [
  ['a builder', 'unseen', (tx, { insert }) => void insert(drizzle(pgClient(tx)))],
  ['execute()', 'caught', (tx, { insert }, { leave }) => leave(insert(drizzle(pgClient(tx))).execute())],
  [
    'a transaction',
    'caught',
    (tx, { insert }, { leave }) => leave(drizzle(pgClient(tx)).transaction((trx) => insert(trx).execute())),
  ],
  [
    'a transaction within one that is awaited',
    'told too late',
    (tx, { insert }, { leave, settled }) =>
      drizzle(pgClient(tx)).transaction(async (trx) =>
        leave(trx.transaction(async (inner) => settled.then(() => insert(inner).execute()))),
      ),
  ],
])

type Charges = Kysely<{ charge: { payment: string } }>

const newKysely = async ({ schema }: { readonly schema: string }) => ({
  over: (tx: PgTransaction): Charges => new Kysely({ dialect: new PostgresDialect({ pool: pgClient(tx) }) }),
  insert: (db: Charges) => db.withSchema(schema).insertInto('charge').values(row),
  close,
})

describeFloating('what a handler asks of Kysely, and does not await', newKysely, [
  ['a builder', 'unseen', (tx, { over, insert }) => void insert(over(tx))],
  ['execute()', 'caught', (tx, { over, insert }, { leave }) => leave(insert(over(tx)).execute())],
  [
    'a transaction',
    'caught',
    (tx, { over, insert }, { leave }) =>
      leave(
        over(tx)
          .transaction()
          .execute((trx) => insert(trx).execute()),
      ),
  ],
  [
    'a connection that nothing is asked of yet',
    'caught',
    (tx, { over, insert }, { leave, settled }) =>
      leave(
        over(tx)
          .connection()
          .execute((one) => settled.then(() => insert(one).execute())),
      ),
  ],
])

const newKnex = async ({ schema }: { readonly schema: string }) => ({
  db: knex({ client: 'pg' }),
  insert: (trx: Knex) => trx.withSchema(schema).insert(row).into('charge'),
  close,
})

describeFloating('what a handler asks of Knex, and does not await', newKnex, [
  ['a builder', 'unseen', (tx, { db, insert }) => void insert(db).connection(pgClient(tx))],
  [
    'a query',
    'caught',
    (tx, { db, insert }, { leave }) =>
      leave(
        insert(db)
          .connection(pgClient(tx))
          .then((rows: unknown) => rows),
      ),
  ],
  [
    'a transaction',
    'caught',
    (tx, { db, insert }, { leave }) =>
      leave(db.transaction(async (trx) => void (await insert(trx)), { connection: pgClient(tx) })),
  ],
  [
    'a transaction that nobody ends',
    'caught',
    (tx, { db }, { leave }) => leave(db.transaction(undefined, { connection: pgClient(tx) })),
  ],
  [
    'a transaction within one that is awaited',
    'unseen',
    (tx, { db, insert }, { leave }) =>
      db.transaction(async (trx) => leave(trx.transaction(async (inner) => void (await insert(inner)))), {
        connection: pgClient(tx),
      }),
  ],
])

const newTypeOrm = async ({ schema }: { readonly schema: string }) => {
  const columns = { payment: { type: 'text', primary: true } } as const
  const charge = new EntitySchema<{ payment: string }>({ name: 'charge', schema, columns })
  const { url } = await server('postgres')
  const dataSource = await new DataSource({ type: 'postgres', url, entities: [charge] }).initialize()
  return {
    over: (tx: PgTransaction): EntityManager => {
      const runner = dataSource.createQueryRunner()
      runner.connect = async () => pgClient(tx)
      return runner.manager
    },
    close: () => dataSource.destroy(),
  }
}

describeFloating('what a handler asks of TypeORM, and does not await', newTypeOrm, [
  ['a builder', 'unseen', (tx, { over }) => void over(tx).createQueryBuilder().insert().into('charge').values(row)],
  ['insert()', 'caught', (tx, { over }, { leave }) => leave(over(tx).insert('charge', row))],
  ['save()', 'caught', (tx, { over }, { leave }) => leave(over(tx).save('charge', row))],
  [
    'a transaction',
    'caught',
    (tx, { over }, { leave }) => leave(over(tx).transaction((manager) => manager.insert('charge', row))),
  ],
])
