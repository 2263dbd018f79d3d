// Knex in the handler: what it writes commits with the mark, or not at all.
// #region readme
import knex from 'knex'
import { defineConsumer, json, messageId, TerminalError } from 'consume-once'
import { pgClient, postgresInbox } from 'consume-once/pg'
// #endregion
import { chargeAll, openCharges, type Payment } from '../support/payments.ts'

const { pool, schema } = await openCharges()

// #region readme
const db = knex({ client: 'pg' }) // without a connection: a query that forgets `trx` fails, instead of running outside

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<Payment>(),
  store: postgresInbox({ pool, schema }),
  handle: ({ payload, tx }) =>
    db.transaction(
      async (trx) => {
        await trx('charge').insert(payload)
        if (payload.cents > 100_000) throw new TerminalError(`over the limit: ${payload.cents}`)
      },
      { connection: pgClient(tx) },
    ),
})
// #endregion

await chargeAll(payments, { pool, schema })
