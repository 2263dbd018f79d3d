// Prisma in the handler: what it writes commits with the mark, or not at all.
// #region readme
import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import { Pool, type PoolClient } from 'pg'
import { defineConsumer, json, messageId, TerminalError } from 'consume-once'
import { pgClient, postgresInbox, type PgTransaction } from 'consume-once/pg'
import { PrismaClient } from './prisma/client/client.ts'
// #endregion
import { chargeAll, openCharges, type Payment } from '../support/payments.ts'

const { pool, schema } = await openCharges()

// #region readme
const handling = new AsyncLocalStorage<PgTransaction>()

/** Connects to nothing: `$transaction` gets the transaction of the handler that it was called in. */
class HandlerPool extends Pool {
  override async connect(): Promise<PoolClient> {
    const tx = handling.getStore()
    if (tx === undefined) throw new TypeError('HandlerPool: expected to be in withPrisma(tx, ...)')
    return pgClient(tx).connect()
  }

  override query(): never {
    throw new TypeError('HandlerPool: outside of the transaction. Use the client that $transaction gives')
  }
}

const prisma = new PrismaClient({ adapter: new PrismaPg(new HandlerPool(), { schema }) })

/** Holds a client of `tx` until `work` has ended: a handler that does not await it fails. */
async function withPrisma<T>(tx: PgTransaction, work: () => Promise<T>): Promise<T> {
  const client = await pgClient(tx).connect()
  try {
    return await handling.run(tx, work)
  } finally {
    client.release()
  }
}

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<Payment>(),
  store: postgresInbox({ pool, schema }),
  handle: ({ payload, tx }) =>
    withPrisma(tx, () =>
      prisma.$transaction(async (trx) => {
        await trx.charge.create({ data: payload })
        if (payload.cents > 100_000) throw new TerminalError(`over the limit: ${payload.cents}`)
      }),
    ),
})
// #endregion

await chargeAll(payments, { pool, schema })
await prisma.$disconnect()
