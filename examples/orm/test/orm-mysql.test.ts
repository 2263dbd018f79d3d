import { expect, it } from '@jest/globals'
import { drizzle } from 'drizzle-orm/mysql2'
import { mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import knex from 'knex'
import { DummyDriver, Kysely, MysqlAdapter, MysqlIntrospector, MysqlQueryCompiler } from 'kysely'
import type { MysqlTransaction } from '../../../adapters/mysql2/index.ts'
import { hold, newItem } from '../../../testing/contract/store/claims.ts'
import { openedForEach } from '../../../test/kit/opened.ts'
import { describeMariadb, lend, newMysqlPlace, NO_REFUND, type MysqlPlace } from '../../../test/mysql/support.ts'

const effects = mysqlTable('effect', { name: varchar({ length: 200 }).notNull() })

/** As docs/orm.md has them. */
const BUILDERS: readonly (readonly [name: string, insert: (tx: MysqlTransaction, name: string) => Promise<unknown>])[] =
  [
    [
      'Drizzle',
      (tx, name) =>
        drizzle(tx as never)
          .insert(effects)
          .values({ name })
          .execute(),
    ],
    [
      'Kysely',
      (tx, name) => {
        const db = new Kysely<{ effect: { name: string } }>({
          dialect: {
            createAdapter: () => new MysqlAdapter(),
            createDriver: () => new DummyDriver(),
            createIntrospector: (made) => new MysqlIntrospector(made),
            createQueryCompiler: () => new MysqlQueryCompiler(),
          },
        })
        const { sql, parameters } = db.insertInto('effect').values({ name }).compile()
        return tx.query(sql, parameters)
      },
    ],
    [
      'Knex',
      (tx, name) => {
        const { sql, bindings } = knex({ client: 'mysql2' })('effect').insert({ name }).toSQL().toNative()
        return tx.query(sql, bindings)
      },
    ],
  ]

describeMariadb('a query builder on ctx.tx of mysqlInbox', () => {
  let place: MysqlPlace
  openedForEach(newMysqlPlace, (made) => (place = made))

  it.each(BUILDERS)('%s writes in the transaction of the mark', async (_, insert) => {
    const inbox = await place.newInbox()
    const { claim: undone } = await hold(inbox, newItem())
    await insert(lend(undone).tx, 'undone')
    await inbox.release([undone], NO_REFUND)
    const { claim: kept } = await hold(inbox, newItem())
    await insert(lend(kept).tx, 'kept')
    expect(await inbox.mark([kept])).toEqual(['marked'])
    expect([await place.committed('undone'), await place.committed('kept')]).toEqual([0, 1])
  })

  it('begins no transaction of its own', async () => {
    const inbox = await place.newInbox()
    const { claim: claimed } = await hold(inbox, newItem())
    const begun = drizzle(lend(claimed).tx as never).transaction(async (trx) => {
      await trx.insert(effects).values({ name: 'never' })
    })
    await expect(begun).rejects.toThrow(/begin|transaction/)
    await inbox.release([claimed], NO_REFUND)
    expect(await place.committed('never')).toBe(0)
  })
})
