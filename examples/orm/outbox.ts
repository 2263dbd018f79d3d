// A transaction of the ORM's own, without a consumer: the event commits with what the ORM wrote, or not at all.
import assert from 'node:assert/strict'
import { PrismaPg } from '@prisma/adapter-pg'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgSchema, text as textColumn } from 'drizzle-orm/pg-core'
import knex from 'knex'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import { DataSource } from 'typeorm'
import { postgresOutbox, type SqlOutbox } from 'consume-once/pg'
import { openCharges } from '../support/payments.ts'
import { databaseUrl } from '../support/servers.ts'
import { PrismaClient } from './prisma/client/client.ts'

const { pool, schema } = await openCharges()
const outbox = postgresOutbox({ pool, schema, relay: false })
await outbox.open()

interface Charge {
  readonly payment: string
  readonly cents: number
}

type Statement = ReturnType<SqlOutbox['statement']>

const eventOf = (payment: string): Statement => outbox.statement({ topic: 'charged', key: payment, value: '{}' })
/** After everything is written. */
const check = ({ cents }: Charge): void => {
  if (cents > 100_000) throw new Error('over the limit')
}

const charges = pgSchema(schema).table('charge', { payment: textColumn().notNull(), cents: integer().notNull() })
const byDrizzle = (charge: Charge): Promise<void> =>
  drizzle(pool).transaction(async (trx) => {
    await trx.insert(charges).values(charge)
    const { text, values } = eventOf(charge.payment)
    // #region drizzle
    const parts = text.split(/\$\d+/).map((part) => sql.raw(part))
    await trx.execute(sql.join(parts.flatMap((part, at) => (at === 0 ? [part] : [sql.param(values[at - 1]), part]))))
    // #endregion
    check(charge)
  })

const kysely = new Kysely<{ charge: Charge }>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema)
const byKysely = (charge: Charge): Promise<void> =>
  // #region kysely
  kysely.transaction().execute(async (trx) => {
    await trx.insertInto('charge').values(charge).execute()
    const { text, values } = outbox.statement({ topic: 'charged', key: charge.payment, value: JSON.stringify(charge) })
    await trx.executeQuery(CompiledQuery.raw(text, values))
    if (charge.cents > 100_000) throw new Error('over the limit') // nothing of both is there
  })
// #endregion

const byKnexOf = knex({ client: 'pg', connection: databaseUrl() })
const byKnex = (charge: Charge): Promise<void> =>
  byKnexOf.transaction(async (trx) => {
    await trx(`${schema}.charge`).insert(charge)
    const { text, values } = eventOf(charge.payment)
    await trx.raw(text.replaceAll(/\$\d+/g, '?'), values as never[])
    check(charge)
  })

const dataSource = await new DataSource({ type: 'postgres', url: databaseUrl() }).initialize()
const byTypeorm = (charge: Charge): Promise<void> =>
  dataSource.transaction(async (manager) => {
    await manager.query(`insert into ${schema}.charge (payment, cents) values ($1, $2)`, [charge.payment, charge.cents])
    const { text, values } = eventOf(charge.payment)
    await manager.query(text, values)
    check(charge)
  })

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl() }, { schema }) })
const byPrisma = (charge: Charge): Promise<void> =>
  prisma.$transaction(async (trx) => {
    await trx.charge.create({ data: charge })
    const { text, values } = eventOf(charge.payment)
    await trx.$executeRawUnsafe(text, ...values)
    check(charge)
  })

for (const [name, charging] of Object.entries({ byDrizzle, byKysely, byKnex, byTypeorm, byPrisma })) {
  await charging({ payment: name, cents: 1250 })
  await assert.rejects(charging({ payment: `${name}, too much`, cents: 1_000_000 }), /over the limit/)
}
const written = async (query: string): Promise<readonly string[]> =>
  (await pool.query<{ name: string }>(query)).rows.map(({ name }) => name)
const committed = await written(`select payment as name from ${schema}.charge order by id`)
assert.deepEqual(committed, ['byDrizzle', 'byKysely', 'byKnex', 'byTypeorm', 'byPrisma'])
const events = `select convert_from(key, 'UTF8') as name from ${schema}.outbox order by id`
assert.deepEqual(await written(events), committed)
console.log('10 payments by 5 ORMs: 5 charges and 5 events, nothing of what was rolled back')

await Promise.all([byKnexOf.destroy(), dataSource.destroy(), prisma.$disconnect()])
await pool.query(`drop schema ${schema} cascade`)
await pool.end()
