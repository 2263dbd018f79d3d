import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { PrismaPg } from '@prisma/adapter-pg'
import { Pool, type PoolClient } from 'pg'
import { pgClient, type PgTransaction } from '../../../adapters/pg/index.ts'
import { Prisma, PrismaClient } from '../prisma/client/client.ts'
import type { Store } from '../../../src/index.ts'
import type { TransactionClaim } from '../../../src/internal.ts'
import { hold, newItem } from '../../../testing/contract/store/claims.ts'
import { describeFloating } from './floating.ts'
import { createCharge, describeOrm, type OrmTransaction } from './orm.ts'
import { NO_REFUND, describePostgres, lend, newPlace, type PgPlace } from '../../../test/pg/support.ts'

const handling = new AsyncLocalStorage<PgTransaction>()

/** As in the example. */
class HandlerPool extends Pool {
  override async connect(): Promise<PoolClient> {
    const tx = handling.getStore()
    if (tx === undefined) throw new TypeError('no handler')
    return pgClient(tx).connect()
  }

  override query(): never {
    throw new TypeError('outside of the transaction')
  }
}

async function withPrisma<T>(tx: PgTransaction, work: () => Promise<T>): Promise<T> {
  const client = await pgClient(tx).connect()
  try {
    return await handling.run(tx, work)
  } finally {
    client.release()
  }
}

function newPrisma({ schema }: PgPlace): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(new HandlerPool(), { schema }) })
}

describeOrm('Prisma', async (place) => {
  const prisma = newPrisma(place)
  const over = <T>(tx: PgTransaction, work: (trx: Prisma.TransactionClient) => Promise<T>): Promise<T> =>
    withPrisma(tx, () => prisma.$transaction(work))
  return {
    insert: (tx, payment) => over(tx, (trx) => within(trx).insert(payment)),
    all: (tx) => over(tx, (trx) => trx.charge.findMany({ orderBy: { id: 'asc' } })),
    setCents: (tx, cents) => over(tx, async (trx) => (await trx.charge.updateMany({ data: { cents } })).count),
    stall: (tx, seconds) => over(tx, (trx) => trx.$executeRaw`select pg_sleep(${seconds})`),
    transaction: (tx, work) => over(tx, (trx) => work(within(trx))),
    serializable: (tx, work) =>
      withPrisma(tx, () =>
        prisma.$transaction((trx) => work(within(trx)), {
          isolationLevel: Prisma.TransactionIsolationLevel.Serializable,
        }),
      ),
    close: () => prisma.$disconnect(),
  }
})

const newFloating = async (place: PgPlace) => {
  const prisma = newPrisma(place)
  return {
    prisma,
    create: () => prisma.charge.create({ data: { payment: 'one', cents: 1 } }),
    close: () => prisma.$disconnect(),
  }
}

describeFloating('what a handler asks of Prisma, and does not await', newFloating, [
  ['a query in withPrisma', 'unseen', (tx, { create }) => withPrisma(tx, async () => void create())],
  [
    '$transaction',
    'caught',
    (tx, { prisma }, { leave }) => leave(withPrisma(tx, () => prisma.$transaction((trx) => within(trx).insert('one')))),
  ],
  [
    'a list of writes',
    'caught',
    (tx, { prisma, create }, { leave }) => leave(withPrisma(tx, () => prisma.$transaction([create(), create()]))),
  ],
  [
    '$transaction that comes late',
    'caught',
    (tx, { prisma }, { leave, settled }) =>
      leave(withPrisma(tx, () => settled.then(() => prisma.$transaction((trx) => within(trx).insert('one'))))),
  ],
  [
    '$transaction that comes late, without withPrisma',
    'told too late',
    (tx, { prisma }, { leave, settled }) =>
      leave(handling.run(tx, () => settled.then(() => prisma.$transaction((trx) => within(trx).insert('one'))))),
  ],
])

describePostgres('one PrismaClient for all handlers', () => {
  let place: PgPlace
  let prisma: PrismaClient
  let inbox: Store<PgTransaction>
  let claims: TransactionClaim<PgTransaction>[]
  beforeAll(async () => {
    place = await newPlace()
    await createCharge(place)
    prisma = newPrisma(place)
    inbox = await place.newInbox()
  })
  beforeEach(() => {
    claims = []
  })
  afterEach(() => inbox.release(claims, NO_REFUND))
  afterAll(async () => {
    await prisma.$disconnect()
    await place.close()
  })

  const newTx = async (): Promise<PgTransaction> => {
    const { claim } = await hold(inbox, newItem())
    claims.push(claim)
    return lend(claim).tx
  }

  it('keeps the transactions of handlers apart that run at once', async () => {
    const transactions = await Promise.all(Array.from({ length: 4 }, newTx))
    const seen = await Promise.all(
      transactions.map((tx, index) =>
        handling.run(tx, () =>
          prisma.$transaction(async (trx) => {
            const payment = `handler ${index}`
            await trx.charge.create({ data: { payment, cents: 1 } })
            // Asked for in one turn of the event loop: Prisma makes one query of those that it may.
            const found = await Promise.all([
              trx.charge.findUnique({ where: { payment } }),
              trx.charge.findUnique({ where: { payment: `handler ${(index + 1) % 4}` } }),
            ])
            return found.map((one) => one?.payment ?? null)
          }),
        ),
      ),
    )
    expect(seen).toEqual(seen.map((_, index) => [`handler ${index}`, null]))
  })

  it('refuses what is outside of $transaction, and $transaction outside of a handler', async () => {
    const tx = await newTx()
    await expect(handling.run(tx, () => prisma.charge.count())).rejects.toThrow('outside of the transaction')
    await expect(prisma.$transaction((trx) => trx.charge.count())).rejects.toThrow('no handler')
  })

  it('undoes what Prisma gave up at its own time limit', async () => {
    const tx = await newTx()
    const late = handling.run(tx, () =>
      prisma.$transaction(
        async (trx) => {
          await trx.charge.create({ data: { payment: 'late', cents: 1 } })
          await trx.$executeRaw`select pg_sleep(0.3)`
        },
        { timeout: 100 },
      ),
    )
    await expect(late).rejects.toMatchObject({ code: 'P2028' })
    const again = handling.run(tx, () => prisma.$transaction((trx) => trx.charge.findMany()))
    expect(await again).toEqual([])
  })

  it('takes a list of writes as a transaction', async () => {
    const tx = await newTx()
    const list = handling.run(tx, () =>
      prisma.$transaction([
        prisma.charge.create({ data: { payment: 'listed', cents: 1 } }),
        prisma.charge.create({ data: { payment: 'listed', cents: 2 } }),
      ]),
    )
    await expect(list).rejects.toMatchObject({ code: 'P2002' })
    const { rows } = await tx.query(`select * from ${place.schema}.charge`)
    expect(rows).toEqual([])
  })
})

function within(trx: Prisma.TransactionClient): OrmTransaction {
  return {
    insert: (payment) => trx.charge.create({ data: { payment, cents: 1250 } }),
    nested: (work) => trx.$transaction((inner) => work(within(inner))),
  }
}
