import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgSchema, text } from 'drizzle-orm/pg-core'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { DataSource, EntitySchema } from 'typeorm'
import { pgClient, type PgTransaction } from '../../../adapters/pg/index.ts'
import type { Store } from '../../../src/index.ts'
import type { TransactionClaim } from '../../../src/internal.ts'
import { hold, newItem } from '../../../testing/contract/store/claims.ts'
import { server } from '../../../test/kit/servers/server.ts'
import { createCharge } from './orm.ts'
import { NO_REFUND, describePostgres, lend, newPlace, type PgPlace } from '../../../test/pg/support.ts'

describePostgres('the traps of ORMs in a handler', () => {
  let place: PgPlace
  let inbox: Store<PgTransaction>
  let claimed: TransactionClaim<PgTransaction>
  let tx: PgTransaction
  beforeEach(async () => {
    place = await newPlace()
    await createCharge(place)
    inbox = await place.newInbox()
    ;({ claim: claimed } = await hold(inbox, newItem()))
    ;({ tx } = lend(claimed))
  })
  afterEach(async () => {
    await inbox.release([claimed], NO_REFUND)
    await place.close()
  })

  const payments = async (client: Pick<PgTransaction, 'query'>): Promise<unknown[]> =>
    (await client.query<{ payment: string }>(`select payment from ${place.schema}.charge order by id`)).rows.map(
      ({ payment }) => payment,
    )

  it('Drizzle: what is written on `db` beside its open transaction shares the fate of that', async () => {
    const charge = pgSchema(place.schema).table('charge', { payment: text().notNull() })
    const db = drizzle(pgClient(tx))
    const undone = db.transaction(async (trx) => {
      await trx.insert(charge).values({ payment: 'inside' })
      await db.insert(charge).values({ payment: 'beside' })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await payments(tx)).toEqual([])
  })

  it('Kysely: destroy() ends nothing, and a stream is refused', async () => {
    class Cursor {
      submit(): void {}
      read = async (): Promise<never[]> => []
      close = async (): Promise<void> => {}
    }
    const pool = pgClient(tx)
    const db = new Kysely<{ charge: { payment: string } }>({ dialect: new PostgresDialect({ pool, cursor: Cursor }) })
    const from = db.withSchema(place.schema)
    await expect(from.selectFrom('charge').selectAll().stream().next()).rejects.toThrow('it outlives its call')
    await db.destroy()
    await tx.query(`insert into ${place.schema}.charge (payment) values ('after')`)
    expect(await payments(tx)).toEqual(['after'])
  })

  it('Knex: without a connection of its own, a query that forgets `trx` fails', async () => {
    const db = knex({ client: 'pg' })
    const forgotten = db.transaction(async () => db.insert({ payment: 'forgotten' }).into('charge'), {
      connection: pgClient(tx),
    })
    await expect(forgotten).rejects.toThrow('Unable to acquire a connection')
    expect(await payments(tx)).toEqual([])
  })

  it('TypeORM: a manager of the data source writes outside [T14]', async () => {
    const columns = { payment: { type: 'text', primary: true } } as const
    const charge = new EntitySchema<{ payment: string }>({ name: 'charge', schema: place.schema, columns })
    const { url } = await server('postgres')
    const dataSource = await new DataSource({ type: 'postgres', url, entities: [charge] }).initialize()
    const runner = dataSource.createQueryRunner()
    runner.connect = async () => pgClient(tx)
    await runner.manager.getRepository(charge).insert({ payment: 'inside' })
    await dataSource.getRepository(charge).insert({ payment: 'outside' })
    await runner.release()
    await dataSource.destroy()
    expect(await payments(tx)).toEqual(['inside', 'outside'])
    await inbox.release([claimed], NO_REFUND)
    expect(await payments(place.pool)).toEqual(['outside'])
  })
})
