// TypeORM in the handler: what it writes commits with the mark, or not at all.
// #region readme
import { DataSource, EntitySchema } from 'typeorm'
import { defineConsumer, json, messageId, TerminalError } from 'consume-once'
import { pgClient, postgresInbox } from 'consume-once/pg'
// #endregion
import { chargeAll, openCharges, type Payment } from '../support/payments.ts'

const { pool, schema, url } = await openCharges()

// #region readme
const Charge = new EntitySchema<Payment & { id: number }>({
  name: 'charge',
  columns: { id: { type: 'int', primary: true, generated: true }, payment: { type: 'text' }, cents: { type: 'int' } },
})
const dataSource = new DataSource({ type: 'postgres', url, entities: [Charge] })
await dataSource.initialize()

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<Payment>(),
  store: postgresInbox({ pool, schema }),
  handle: async ({ payload, tx }) => {
    const runner = dataSource.createQueryRunner()
    runner.connect = async () => pgClient(tx) // instead of a connection of the data source
    await runner.manager.save(Charge, payload) // repositories: runner.manager.getRepository(Charge)
    if (payload.cents > 100_000) throw new TerminalError(`over the limit: ${payload.cents}`)
  },
})
// #endregion

await chargeAll(payments, { pool, schema })
await dataSource.destroy()
