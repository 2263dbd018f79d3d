// Drizzle in the handler: what it writes commits with the mark, or not at all.
// #region readme
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, serial, text } from 'drizzle-orm/pg-core'
import { defineConsumer, json, messageId, TerminalError } from 'consume-once'
import { pgClient, postgresInbox } from 'consume-once/pg'
// #endregion
import { chargeAll, openCharges, type Payment } from '../support/payments.ts'

const { pool, schema } = await openCharges()

// #region readme
const charge = pgTable('charge', { id: serial().primaryKey(), payment: text().notNull(), cents: integer().notNull() })

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<Payment>(),
  store: postgresInbox({ pool, schema }),
  handle: async ({ payload, tx }) => {
    const db = drizzle(pgClient(tx))
    await db.insert(charge).values(payload)
    if (payload.cents > 100_000) throw new TerminalError(`over the limit: ${payload.cents}`)
  },
})
// #endregion

await chargeAll(payments, { pool, schema })
