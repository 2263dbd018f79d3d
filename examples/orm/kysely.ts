// Kysely in the handler: what it writes commits with the mark, or not at all.
// #region readme
import { Kysely, PostgresDialect, type Generated } from 'kysely'
import { defineConsumer, json, messageId, TerminalError } from 'consume-once'
import { pgClient, postgresInbox } from 'consume-once/pg'
// #endregion
import { chargeAll, openCharges, type Payment } from '../support/payments.ts'

const { pool, schema } = await openCharges()

// #region readme
interface Database {
  readonly charge: { id: Generated<number>; payment: string; cents: number }
}

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<Payment>(),
  store: postgresInbox({ pool, schema }),
  handle: async ({ payload, tx }) => {
    const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: pgClient(tx) }) })
    await db.insertInto('charge').values(payload).execute()
    if (payload.cents > 100_000) throw new TerminalError(`over the limit: ${payload.cents}`)
  },
})
// #endregion

await chargeAll(payments, { pool, schema })
