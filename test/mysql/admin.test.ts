import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { expect, it } from '@jest/globals'
import { mysqlInbox, mysqlLease, mysqlMigrationSql } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import type { StoreAdmin } from '../../src/internal.ts'
import { grantedBy, hold, LONG_MS, newItem, SCOPE, SHORT_MS } from '../../testing/contract/store/claims.ts'
import { mysqlLeaseHarness, type MysqlLeaseHarness } from './lease-harness.ts'
import { ALONE, codeOf, describeMariadb, newMysqlPlace, NO_REFUND, type MysqlPlace } from './support.ts'

const WHY = { by: 'ops', reason: "it's known: ключ", retentionMs: LONG_MS }

function adminOf({ admin }: { readonly admin?: StoreAdmin }): StoreAdmin {
  if (admin === undefined) throw new Error('expected a store with admin')
  return admin
}

const back = (column: string): string => `set ${column} = date_sub(${column}, interval 2 hour)`

describeMariadb('mysqlInbox in the hands of people', () => {
  let place: MysqlPlace
  openedForEach(
    lentPlaces(() => newMysqlPlace()),
    (made) => (place = made),
  )

  it('writes down who decided what, why, and the record as it was', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    await inbox.setAside([(await hold(inbox, item)).claim], 'parked', { reason: 'no luck' })
    await adminOf(inbox).resolve(SCOPE, [item.key, newItem().key], { ...WHY, as: 'rerun' })
    const rows = await place.rows('select decision, by_whom, reason, `before` from consume_once_audit')
    expect(rows).toEqual([
      { decision: 'rerun', by_whom: 'ops', reason: WHY.reason, before: expect.stringMatching(/parked.*no luck/) },
    ])
  })

  it('lists replays of one millisecond in the order in which they were made, the newest first', async () => {
    const ledger = adminOf(await place.newInbox()).replays
    for (const id of ['a', 'b', 'c']) await ledger?.take(SCOPE, id, { owner: 'ops', ttlMs: LONG_MS, state: '{}' })
    await place.pool.query(
      `update consume_once_replay set created_at = timestamp(concat('2026-01-01 00:00:00.0001', ascii(id) - 87))`,
    )
    expect((await ledger?.list(SCOPE, 10))?.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  })

  it('tells a handler that runs from one that has failed, and counts neither', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    expect(await adminOf(inbox).peek(SCOPE, [item.key])).toEqual([{ state: 'processing', attempt: 1 }])
    await inbox.release([claimed], NO_REFUND)
    expect(await adminOf(inbox).peek(SCOPE, [item.key])).toEqual([
      { state: 'released', digest: item.digest, attempt: 1 },
    ])
    expect(await hold(inbox, item, ALONE)).toMatchObject({ attempt: 2 })
  })

  it('purges what is done or given up after retention, in bounded steps, and nothing that is parked', async () => {
    const inbox = await place.newInbox()
    const admin = adminOf(inbox)
    const items = Array.from({ length: 7 }, () => newItem())
    for (const item of items) await inbox.mark([(await hold(inbox, item)).claim])
    const [parked, tried, young] = [newItem(), newItem(), newItem()]
    await inbox.setAside([(await hold(inbox, parked)).claim], 'parked', { reason: 'wait' })
    await inbox.release([(await hold(inbox, tried)).claim], NO_REFUND)
    await place.pool.query(`update consume_once_inbox ${back('done_at')}, keep_until = done_at`)
    await place.pool.query(`update consume_once_attempt ${back('last_at')}, keep_until = last_at`)
    await inbox.mark([(await hold(inbox, young)).claim])
    const how = { retentionMs: 3_600_000, limit: 3 }
    const removed: number[] = []
    for (let more = true; more;) {
      const purged = await admin.purge(SCOPE, how)
      expect(purged.removed).toBeLessThanOrEqual(how.limit)
      removed.push(purged.removed)
      more = purged.more
    }
    expect(removed.reduce((sum, one) => sum + one, 0)).toBe(8)
    await place.pool.query(`update consume_once_scope ${back('first_claim_at')}`)
    expect(await admin.knownSince?.(SCOPE)).toMatchObject({ because: 'the last purge' })
    const left = await admin.peek(
      SCOPE,
      [...items, parked, tried, young].map(({ key }) => key),
    )
    expect(left.map(({ state }) => state)).toEqual([...items.map(() => 'absent'), 'parked', 'absent', 'done'])
  })

  it('does not wait for a claim under way when it purges', async () => {
    const inbox = await place.newInbox()
    const [done, held] = [newItem(), newItem()]
    await inbox.mark([(await hold(inbox, done)).claim])
    await place.pool.query(
      'update consume_once_inbox set done_at = date_sub(done_at, interval 2 hour), keep_until = done_at',
    )
    const { claim: claimed } = await hold(inbox, held)
    expect(await adminOf(inbox).purge(SCOPE, { retentionMs: 1_000, limit: 10 })).toEqual({ removed: 1, more: false })
    expect(await inbox.mark([claimed])).toEqual(['marked'])
  })

  it('says what its marks are worth on this server', async () => {
    const inbox = await place.newInbox()
    const findings = (await inbox.checkup?.()) ?? []
    const [settings] = await place.rows('select @@global.innodb_flush_log_at_trx_commit as flush')
    expect(findings.find(({ check }) => check === 'mysql.flush')).toMatchObject({
      verdict: settings?.['flush'] === 1 ? 'holds' : 'broken',
      found: `innodb_flush_log_at_trx_commit ${String(settings?.['flush'])}`,
    })
    expect(findings.map(({ check, verdict }) => [check, verdict])).toEqual(
      expect.arrayContaining([
        ['mysql.primary', 'holds'],
        ['mysql.sql_mode', 'holds'],
        ['mysql.replication', 'unknown'],
      ]),
    )
  })
})

describeMariadb('mysqlLease in the hands of people', () => {
  let harness: MysqlLeaseHarness
  openedForEach(mysqlLeaseHarness, (made) => (harness = made))

  it('writes down what was decided in its transaction, once', async () => {
    const { store, place } = harness
    const item = newItem()
    await store.setAside([(await hold(store, item)).claim], 'parked', { reason: 'no luck' })
    for (const verdict of ['decided', 'already']) {
      expect(await adminOf(store).resolve(SCOPE, [item.key], { ...WHY, as: 'done' })).toEqual([verdict])
    }
    const rows = await place.rows('select decision, by_whom, `before` from consume_once_audit')
    expect(rows).toEqual([{ decision: 'done', by_whom: 'ops', before: expect.stringMatching(/parked.*no luck/) }])
  })

  it('writes down that a record was in doubt', async () => {
    const { store } = harness
    const item = newItem()
    await store.release([(await hold(store, item)).claim], { refund: false, doubt: true })
    expect(await adminOf(store).resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' })).toEqual(['decided'])
    const page = await adminOf(store).audit?.(SCOPE, { limit: 10 })
    expect(page?.entries).toMatchObject([{ decision: 'rerun', before: 'in-doubt' }])
  })

  it('purges what retention has ended, and nothing else', async () => {
    const { store, age } = harness
    const [done, long, parked] = [newItem(), newItem(), newItem()]
    await store.mark([(await hold(store, done, { retentionMs: LONG_MS, leaseMs: SHORT_MS })).claim])
    await store.mark([(await hold(store, long, { retentionMs: 10 * LONG_MS })).claim])
    await store.setAside([(await hold(store, parked, { retentionMs: LONG_MS })).claim], 'parked', { reason: 'wait' })
    await age(2 * LONG_MS)
    const purged = await adminOf(store).purge(SCOPE, { retentionMs: 0, limit: 10 })
    expect(purged).toEqual({ removed: 1, more: false })
    const views = await adminOf(store).peek(SCOPE, [done.key, long.key, parked.key])
    expect(views.map(({ state }) => state)).toEqual(['absent', 'done', 'parked'])
  })
})

describeMariadb('Tables of consume-once in MariaDB', () => {
  let place: MysqlPlace
  openedForEach(newMysqlPlace, (made) => (place = made))

  it('are made once, however many open them at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => place.newInbox()))
    expect(stores).toHaveLength(6)
    expect(await place.rows('select version, name from consume_once_migration')).toEqual([
      { version: 1, name: 'initial' },
      { version: 2, name: 'outbox' },
    ])
  })

  it('are only checked with setup: check, and can be made by the printed SQL', async () => {
    const verify = (): Promise<void> => mysqlInbox({ pool: place.newPool(), setup: 'check' }).open()
    expect(await codeOf(verify())).toBe('CONFIG_INVALID')
    const pool = place.newPool({ multipleStatements: true })
    await pool.query(mysqlMigrationSql({ database: place.database }))
    expect(await codeOf(verify())).toBe('no error')
    const lease = mysqlLease({ pool: place.newPool(), setup: 'check' })
    expect(await hold(lease, newItem())).toMatchObject({ verdict: 'claimed' })
  })

  it('may be in a database of their own', async () => {
    const other = await newMysqlPlace()
    try {
      const inbox: Store<unknown> = await place.newInbox({ database: other.database })
      const item = newItem()
      expect(await inbox.mark([(await hold(inbox, item)).claim])).toEqual(['marked'])
      expect(await other.rows('select outcome from consume_once_inbox')).toEqual([{ outcome: 'd' }])
    } finally {
      await other.close()
    }
  })

  it('keep scopes apart, also those whose names differ by case or trailing blanks', async () => {
    const inbox = await place.newInbox()
    const verdicts: string[] = []
    for (const scope of ['Group/sms', 'group/sms', 'group/sms ', 'x'.repeat(3_000), 'ключ']) {
      const item = newItem()
      const how = { token: 'token', leaseMs: 1_000, retentionMs: 1_000, alone: false }
      const [answer] = await inbox.claim({ ...how, scope, items: [item] })
      verdicts.push(...(await inbox.mark([grantedBy(answer).claim])))
    }
    expect(verdicts).toEqual(Array(5).fill('marked'))
    expect(await place.rows('select count(*) as n from consume_once_scope')).toEqual([{ n: 5 }])
  })

  it('refuses a pool that it cannot work with, a replica and a server that cuts, each in words', async () => {
    const pool = place.newPool({ connectionLimit: 1 })
    expect(() => mysqlInbox({ pool, database: 'a`b' })).toThrow('database: expected')
    expect(() => mysqlInbox({ pool, lockTimeoutMs: 9_001, queryTimeoutMs: 10_000 })).toThrow(
      /connectionLimit >= 2[\s\S]*lockTimeoutMs/,
    )
    const lax = place.newPool()
    lax.on('connection', (connection) => void connection.query("set sql_mode = ''"))
    expect(await codeOf(mysqlInbox({ pool: lax }).open())).toBe('CONFIG_INVALID')
  })
})
