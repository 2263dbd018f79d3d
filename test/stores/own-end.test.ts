import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mysqlInbox } from '../../adapters/mysql2/index.ts'
import { postgresInbox } from '../../adapters/pg/index.ts'
import { failureOf } from '../../src/core/result.ts'
import { once, tokens, type OnceOptions } from '../../src/index.ts'
import type { InboxStore, StoreAdmin } from '../../src/internal.ts'
import { scopeText } from '../../src/consumer/scope.ts'
import { hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newMysqlPlace } from '../mysql/support.ts'
import { newPlace } from '../pg/support.ts'

const DAY_MS = 86_400_000

/** An inbox, and what its tables have beside it. */
interface Opened {
  /** As another process would have it. */
  readonly newStore: () => InboxStore<never>
  readonly rows: (sql: string) => Promise<readonly unknown[]>
  readonly inbox: string
  readonly attempt: string
  /** Makes all rows older by so many days. */
  readonly age: (table: string, days: number) => string
  readonly close: () => Promise<unknown>
}

const INBOXES = {
  postgres: async (): Promise<Opened> => {
    const place = await newPlace()
    const { schema } = place
    return {
      newStore: () => postgresInbox({ pool: place.newPool(), schema }) as unknown as InboxStore<never>,
      rows: async (sql) => (await place.pool.query(sql)).rows,
      inbox: `${schema}.inbox`,
      attempt: `${schema}.attempt`,
      age: (table, days) => {
        const since = table.endsWith('inbox') ? 'done_at' : 'last_at'
        return `update ${table} set ${since} = ${since} - interval '${days} days', keep_until = keep_until - interval '${days} days'`
      },
      close: () => place.close(),
    }
  },
  mariadb: async (): Promise<Opened> => {
    const place = await newMysqlPlace()
    return {
      newStore: () => mysqlInbox({ pool: place.newPool() }) as unknown as InboxStore<never>,
      rows: place.rows,
      inbox: 'consume_once_inbox',
      attempt: 'consume_once_attempt',
      age: (table, days) => {
        const since = table.endsWith('inbox') ? 'done_at' : 'last_at'
        const back = (column: string): string => `${column} = date_sub(${column}, interval ${days} day)`
        return `update ${table} set ${back(since)}, ${back('keep_until')}`
      },
      close: () => place.close(),
    }
  },
}

const adminOf = (store: InboxStore<never>): StoreAdmin => store.admin as StoreAdmin

const purge = (store: InboxStore<never>, retentionMs: number): ReturnType<StoreAdmin['purge']> =>
  adminOf(store).purge(SCOPE, { retentionMs, limit: 100 })

async function marked(store: InboxStore<never>, retentionMs: number): Promise<string> {
  const item = newItem()
  const { claim } = await hold(store, item, { retentionMs })
  await store.mark([claim])
  return item.key
}

async function statesOf(store: InboxStore<never>, keys: readonly string[]): Promise<readonly string[]> {
  return (await adminOf(store).peek(SCOPE, keys)).map(({ state }) => state)
}

const wanted = Object.entries(INBOXES).filter(([name]) => [...backends].some((backend) => name === backend))

describe.each(wanted)('the end of a record of an inbox: %s', (_name, open) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  }, SERVER_WITHIN_MS)
  afterAll(() => opened.close())

  it('comes from the retention of its own claim, whoever purges', async () => {
    const [longer, shorter] = [opened.newStore(), opened.newStore()]
    await Promise.all([longer.open(), shorter.open()])
    const keys = [await marked(longer, 7 * DAY_MS), await marked(shorter, DAY_MS)]
    await opened.rows(opened.age(opened.inbox, 2))
    expect(await purge(shorter, DAY_MS)).toMatchObject({ removed: 1 })
    expect(await statesOf(longer, keys)).toEqual(['done', 'absent'])
    // Nor does a longer end help against the retention of whoever knows that the broker delivers for that long.
    const late = await marked(shorter, DAY_MS)
    await opened.rows(opened.age(opened.inbox, 2))
    expect(await purge(longer, 7 * DAY_MS)).toMatchObject({ removed: 0 })
    expect(await statesOf(longer, [late])).toEqual(['done'])
    await opened.rows(opened.age(opened.inbox, 7))
    expect(await purge(longer, 7 * DAY_MS)).toMatchObject({ removed: 2 })
  })

  it('is kept by records that were set aside, by remembered failures, and by the attempts of failed messages', async () => {
    const [longer, shorter] = [opened.newStore(), opened.newStore()]
    await Promise.all([longer.open(), shorter.open()])
    const [aside, failed, tried] = [newItem(), newItem(), newItem()]
    const held = async (item: ReturnType<typeof newItem>) =>
      (await hold(longer, item, { retentionMs: 7 * DAY_MS })).claim
    await longer.setAside([await held(aside)], 'given-up', { reason: 'handler-failed' })
    await longer.mark([await held(failed)], [failureOf({ name: 'E', message: 'no', code: undefined })])
    await longer.release([await held(tried)], { refund: false, doubt: false, cause: 'no' })
    for (const table of [opened.inbox, opened.attempt]) await opened.rows(opened.age(table, 2))
    expect(await purge(shorter, DAY_MS)).toEqual({ removed: 0, more: false })
    for (const table of [opened.inbox, opened.attempt]) await opened.rows(opened.age(table, 6))
    expect(await purge(shorter, DAY_MS)).toMatchObject({ removed: 3 })
  })

  it('keeps a redeemed token used until it has expired, whatever else runs in its scope', async () => {
    const secrets = ['a secret of 16 b']
    const store = opened.newStore()
    const forms = tokens(store, { secrets, scope: 'own-end' })
    const token = forms.issue('user', { ttlMs: 7 * DAY_MS })
    expect(await forms.redeem(token, 'user')).toBe('redeemed')
    await opened.rows(opened.age(opened.inbox, 2))
    await adminOf(store).purge(scopeText(['own-end']), { retentionMs: DAY_MS, limit: 100 })
    expect(await forms.redeem(token, 'user')).toBe('used')
  })

  it('is looked for by a process that makes one call, and every process finds what is over', async () => {
    const [old, young] = ['old', 'young']
    const call = (key: string, options: OnceOptions<never> = {}) =>
      once(opened.newStore(), key, () => key, { scope: 'short', retentionMs: DAY_MS, ...options })
    // Its own look, on a busy machine, would come when it is old already.
    await call(old, { purge: 'never' })
    await opened.rows(opened.age(opened.inbox, 2))
    const count = async (): Promise<number> => (await opened.rows(`select 1 from ${opened.inbox}`)).length
    const before = await count()
    await call(young)
    // The old one is gone, the young one is there.
    await eventually(async () => (await count()) === before)
    expect(await count()).toBe(before)
  })
})
