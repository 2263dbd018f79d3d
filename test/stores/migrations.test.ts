import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { mysqlInbox, mysqlMigrations } from '../../adapters/mysql2/index.ts'
import { MIGRATIONS as OF_MYSQL } from '../../adapters/mysql2/schema/migrations.ts'
import { postgresInbox, postgresMigrations } from '../../adapters/pg/index.ts'
import { MIGRATIONS as OF_POSTGRES } from '../../adapters/pg/schema/migrations.ts'
import type { Migration } from '../../adapters/sql/schema/migrations.ts'
import type { Migrations, Store } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { newMysqlPlace } from '../mysql/support.ts'
import { newPlace } from '../pg/support.ts'

interface Opened {
  readonly newStore: (setup?: 'auto' | 'check') => Store<unknown>
  readonly migrations: Migrations
  /** The code of a later version has a third migration, which adds the column `more` to the inbox. */
  readonly release: () => unknown
  readonly rows: (sql: string) => Promise<readonly unknown[]>
  readonly close: () => Promise<unknown>
}

const THIRD: Migration<{ readonly inbox: string }> = {
  version: 3,
  name: 'more',
  breaking: false,
  statements: ({ inbox }) => [`alter table ${inbox} add column more int`],
}

const DATABASES = {
  postgres: async (): Promise<Opened> => {
    const place = await newPlace()
    const schema = uniqueName('later')
    return {
      newStore: (setup = 'auto') => postgresInbox({ pool: place.newPool(), schema, setup }),
      migrations: postgresMigrations({ pool: place.newPool(), schema }),
      release: () => (OF_POSTGRES as object[]).push(THIRD),
      rows: async (sql) => (await place.pool.query(sql.replace('TABLE', `${schema}.inbox`))).rows,
      async close() {
        await place.pool.query(`drop schema if exists ${schema} cascade`)
        await place.close()
      },
    }
  },
  mariadb: async (): Promise<Opened> => {
    const place = await newMysqlPlace()
    return {
      newStore: (setup = 'auto') => mysqlInbox({ pool: place.newPool(), setup }),
      migrations: mysqlMigrations({ pool: place.newPool() }),
      release: () => (OF_MYSQL as object[]).push(THIRD),
      rows: (sql) => place.rows(sql.replace('TABLE', 'consume_once_inbox')),
      close: place.close,
    }
  },
}

async function marked(store: Store<unknown>): Promise<ReturnType<typeof newItem>> {
  const item = newItem()
  await store.mark([(await hold(store, item)).claim])
  return item
}

const wanted = Object.entries(DATABASES).filter(([name]) => [...backends].some((backend) => name === backend))

describe.each(wanted)('a migration of a later version: %s', (_name, open) => {
  let opened: Opened
  afterEach(async () => {
    for (const known of [OF_POSTGRES, OF_MYSQL]) (known as unknown[]).splice(2)
    await opened.close()
  })

  it('is pending until it runs, once; what was done before stays done, also for processes of the version before', async () => {
    opened = await open()
    const { migrations, newStore } = opened
    const before = newStore()
    await before.open()
    const done = await marked(before)
    opened.release()
    expect(await migrations.status()).toMatchObject({ run: ['1 initial', '2 outbox'], pending: ['3 more'], drift: [] })
    await expect(newStore('check').open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/expected .*version 3/),
    })
    expect(await migrations.up({ dryRun: true })).toEqual(['3 more'])
    await expect(opened.rows('select more from TABLE')).rejects.toThrow('more')
    const later = [newStore(), newStore(), newStore()]
    await Promise.all(later.map((store) => store.open()))
    expect(await opened.rows('select more from TABLE')).toEqual([{ more: null }])
    expect(await migrations.status()).toMatchObject({
      run: ['1 initial', '2 outbox', '3 more'],
      pending: [],
      drift: [],
    })
    expect(await migrations.up()).toEqual([])
    for (const store of [before, ...later]) {
      expect(await claim(store, done)).toMatchObject({ verdict: 'done' })
      await marked(store)
    }
  })

  it('waits for a transaction that uses the table', async () => {
    opened = await open()
    const { newStore } = opened
    const before = newStore()
    await before.open()
    const held = await hold(before, newItem())
    opened.release()
    const opening = newStore().open()
    expect(await Promise.race([opening, delay(200, 'waits')])).toBe('waits')
    expect(await before.mark([held.claim])).toEqual(['marked'])
    await opening
  })
})
