import { describe, expect, it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import { postgresLease } from '../../adapters/pg/index.ts'
import { type Store } from '../../src/index.ts'
import { resultOf, type StoreAdmin } from '../../src/internal.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { claim, claimAll, forged, grantedBy, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { fakePool } from '../../test/pg/fake-pool.ts'
import { pgLeaseHarness, type PgLeaseHarness } from '../../test/pg/lease-harness.ts'
import { describePostgres, NO_REFUND } from '../../test/pg/support.ts'

const DAY_MS = 86_400_000
const WHY = { by: 'somebody', reason: 'it was looked at', retentionMs: DAY_MS }

describePostgres('the records of postgresLease', () => {
  let harness: PgLeaseHarness
  let store: Store
  let admin: StoreAdmin
  beforeEachOpen(async (own) => {
    harness = own(await pgLeaseHarness())
    store = harness.store
    if (store.admin === undefined) throw new Error('expected a store with admin')
    admin = store.admin
  })

  /** As many records as a table has in production, nearly. */
  async function fill(rows: number, state: string, keepUntil: string): Promise<void> {
    const { pool, schema } = harness.place
    await pool.query(
      `insert into ${schema}.lease select now(), ${keepUntil}, 1, 1, s.id, '${state}', false,
        decode(md5('${state} ' || n), 'hex'), '', 'somebody', '' from ${schema}.scope s, generate_series(1, ${rows}) n`,
    )
  }

  async function states(): Promise<readonly string[]> {
    const { pool, schema } = harness.place
    const { rows } = await pool.query<{ state: string }>(`select state::text from ${schema}.lease order by 1`)
    return rows.map(({ state }) => state)
  }

  it('have one index, on what never changes, and pages with room', async () => {
    const { pool, schema } = harness.place
    const { rows } = await pool.query(`select pg_get_indexdef(i.indexrelid) as def, c.reloptions from pg_index i
      join pg_class c on c.oid = i.indrelid where c.oid = '${schema}.lease'::regclass`)
    expect(rows).toEqual([
      {
        def: expect.stringContaining('(scope, key)'),
        reloptions: expect.arrayContaining(['fillfactor=80']),
      },
    ])
  })

  it('keep the words of transition(), and no more of a digest that is compared with none', async () => {
    const item = newItem({ digest: '' })
    const { claim: claimed } = await hold(store, item)
    expect(await harness.look(item.key)).toMatchObject({ state: 'P', fence: 1, attempts: 1, doubt: false, fp: '' })
    await store.release([claimed], { refund: true, doubt: true })
    expect(await harness.look(item.key)).toMatchObject({ state: 'R', attempts: 0, doubt: true, owner: claimed.token })
    await store.mark([claimed], ['v1'])
    expect(await harness.look(item.key)).toMatchObject({ state: 'D', doubt: false, rest: 'v1' })
  })

  it('are found by their scope alone', async () => {
    const item = newItem()
    await store.mark([(await hold(store, item)).claim])
    const elsewhere = { scope: 'elsewhere', token: 't', leaseMs: DAY_MS, retentionMs: DAY_MS, alone: false }
    const [answer] = await store.claim({ ...elsewhere, items: [item] })
    expect(answer).toMatchObject({ verdict: 'claimed', fence: 1 })
    const own = await hold(store, newItem())
    // One call about both.
    expect(await store.mark([grantedBy(answer).claim, own.claim])).toEqual(['marked', 'marked'])
    expect(await admin.peek('elsewhere', [own.claim.key])).toEqual([{ state: 'absent' }])
  })

  it('answer a call that names a key twice as two calls', async () => {
    const { claim: claimed } = await hold(store, newItem())
    await store.release([claimed], NO_REFUND)
    expect(await store.mark([claimed, forged(claimed), claimed])).toEqual([
      'marked-late',
      'refused-done',
      'already-marked',
    ])
  })

  it('are claimed by a pool with a single connection, however many ask at once', async () => {
    const lease = await harness.newLease({ pool: harness.place.newPool({ max: 1 }) })
    const items = Array.from({ length: 30 }, () => newItem())
    const answers = await Promise.all(items.map((item) => claim(lease, item)))
    const marks = await Promise.all(answers.map((answer) => lease.mark([grantedBy(answer).claim])))
    expect(new Set(marks.flat())).toEqual(new Set(['marked']))
  })

  it('take any reason, and a person any words', async () => {
    const { item, claim: claimed } = await holdNew(store)
    expect(await store.setAside([claimed], 'parked', { reason: 'a zero byte: \u0000' })).toEqual(['parked'])
    expect(await claim(store, item)).toMatchObject({ verdict: 'parked', reason: 'a zero byte: ?' })
    const why = { ...WHY, reason: 'copied \u0000 from somewhere' }
    expect(await admin.resolve(SCOPE, [item.key], { ...why, as: 'done' })).toEqual(['decided'])
  })

  it('take any result, whatever the encoding of the database', async () => {
    const name = uniqueName('latin')
    const { pool } = harness.place
    await pool.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    try {
      const url = new URL((await server('postgres')).url)
      url.pathname = `/${name}`
      const latin = harness.place.newPool({ connectionString: url.href })
      const lease = postgresLease({ pool: latin })
      await lease.open()
      const item = newItem()
      const value = { text: 'ключ 🔑 "é"' }
      const { claim: claimed } = await hold(lease, item)
      expect(await lease.mark([claimed], [resultOf(value)])).toEqual(['marked'])
      const answer = await claim(lease, item)
      const result = 'result' in answer ? (answer.result ?? '') : ''
      expect(JSON.parse(result.slice(1))).toEqual(value)
      const poison = newItem()
      const { claim: poisoned } = await hold(lease, poison)
      expect(await lease.setAside([poisoned], 'given-up', { reason: 'ключ' })).toEqual(['given-up'])
    } finally {
      await pool.query(`drop database ${name} with (force)`)
    }
  })

  it('are listed out of a large table in bounded steps', async () => {
    const parked = Array.from({ length: 5 }, () => newItem())
    const claims = (await claimAll(store, parked)).map((answer) => grantedBy(answer).claim)
    await store.setAside(claims, 'parked', { reason: 'wait' })
    await fill(120_000, 'D', `now() + interval '1 hour'`)
    const seen: string[] = []
    for (let after: string | undefined, more = true; more;) {
      const page = await admin.list(SCOPE, { state: 'parked', limit: 2, after })
      seen.push(...page.records.map(({ key }) => key))
      after = page.next
      more = after !== undefined
    }
    expect(seen.toSorted()).toEqual(parked.map(({ key }) => key).toSorted())
    const none = { records: [], looked: 120_005, next: undefined }
    expect(await admin.list(SCOPE, { state: 'in-doubt', limit: 10 })).toEqual(none)
    const some = await admin.list(SCOPE, { state: 'in-doubt', limit: 10, lookAtMost: 70_000 })
    expect(some).toMatchObject({ records: [], looked: 70_000, next: expect.any(String) })
    const rest = await admin.list(SCOPE, { state: 'in-doubt', limit: 10, lookAtMost: 70_000, after: some.next })
    expect(rest).toEqual({ ...none, looked: 50_005 })
  }, 60_000)

  it('are shown with the end of their retention, and nothing once it has come', async () => {
    const { item, claim: claimed } = await holdNew(store, { retentionMs: DAY_MS })
    await store.mark([claimed], ['v1'])
    const [view] = await admin.peek(SCOPE, [item.key])
    expect(view).toMatchObject({ state: 'done', fence: 1, result: 'v1', keepUntil: expect.any(Number) })
    expect(Math.abs((view?.keepUntil ?? 0) - Date.now() - DAY_MS)).toBeLessThan(60_000)
    await harness.age(DAY_MS)
    expect(await admin.peek(SCOPE, [item.key])).toEqual([{ state: 'absent' }])
    expect((await admin.list(SCOPE, { state: 'done', limit: 10 })).records).toEqual([])
    expect(await admin.forget(SCOPE, [item.key], WHY)).toEqual(['already'])
  })

  it('are absent to every call once their retention has ended, but for what is parked', async () => {
    const items = Array.from({ length: 5 }, () => newItem())
    const answers = await claimAll(store, items, { retentionMs: DAY_MS, leaseMs: 10 * DAY_MS })
    const [parked, held, ...others] = answers.map((answer) => grantedBy(answer).claim)
    if (parked === undefined || held === undefined) throw new Error('expected five claims')
    await store.setAside([parked], 'parked', { reason: 'wait' })
    await harness.age(DAY_MS)
    expect(await store.renew([held], DAY_MS)).toEqual(['lost'])
    expect(await store.release(others, NO_REFUND)).toEqual(['refused', 'refused', 'refused'])
    expect(await store.setAside(others, 'parked', { reason: 'late' })).toEqual(['refused', 'refused', 'refused'])
    expect(await store.mark([{ ...held, fence: 7 }])).toEqual(['marked-late'])
    expect(await admin.peek(SCOPE, [held.key])).toMatchObject([{ state: 'done', fence: 7 }])
    await harness.age(10_000 * DAY_MS)
    expect(await claim(store, parked)).toMatchObject({ verdict: 'parked', reason: 'wait' })
  })

  describe('are purged', () => {
    const purging = { retentionMs: DAY_MS, limit: 2 }

    /** Three whose retention has ended, one that has not, one that is parked. */
    async function leave(): Promise<void> {
      const [parked, ...over] = [newItem(), newItem(), newItem(), newItem()]
      await store.setAside([(await hold(store, parked)).claim], 'parked', { reason: 'wait' })
      for (const item of over) await store.mark([(await hold(store, item, { retentionMs: DAY_MS })).claim])
      await harness.age(DAY_MS)
      await hold(store, newItem())
    }

    it('in batches, once their retention has ended; what is parked is kept', async () => {
      await leave()
      expect(await admin.purge(SCOPE, purging)).toEqual({ removed: 2, more: true })
      expect(await admin.purge(SCOPE, purging)).toEqual({ removed: 1, more: false })
      expect(await admin.purge(SCOPE, purging)).toEqual({ removed: 0, more: false })
      expect(await states()).toEqual(['P', 'X'])
      expect(await admin.purge('another scope', purging)).toEqual({ removed: 0, more: false })
    })

    it('by one purger at a time, which waits for nobody', async () => {
      await leave()
      const { pool, schema } = harness.place
      const other = await pool.connect()
      await other.query(`begin; select * from ${schema}.lease where state = 'D' for update`)
      expect(await admin.purge(SCOPE, purging)).toEqual({ removed: 0, more: false })
      await other.query(`rollback; begin; select pg_advisory_xact_lock(1668244080, hashtext('${schema}'))`)
      expect(await admin.purge(SCOPE, purging)).toEqual({ removed: 0, more: false })
      await other.query('rollback')
      other.release()
      expect(await admin.purge(SCOPE, { ...purging, limit: 3 })).toEqual({ removed: 3, more: true })
    })

    it('out of a large table in bounded steps, round after round', async () => {
      await leave()
      await fill(180_000, 'D', `now() + interval '1 hour'`)
      await fill(10, 'R', 'now()')
      for (let round = 0; round < 2; round++) {
        let [removed, steps, more] = [0, 0, true]
        for (; more; steps++) {
          const purged = await admin.purge(SCOPE, { ...purging, limit: 1_000 })
          removed += purged.removed
          more = purged.more
        }
        expect(removed).toBe(round === 0 ? 13 : 0)
        // A pass begins at any page: there may be a rest to look at before that page.
        expect([2, 3]).toContain(steps)
      }
    }, 60_000)
  })
})

describe('options of postgresLease', () => {
  it('are told with all their problems at once', () => {
    const wrong = { pool: fakePool({}, 0).pool, schema: 'A', setup: 'never' as never, lockTimeoutMs: 0 }
    for (const name of ['schema', 'setup', 'lockTimeoutMs']) {
      expect(() => postgresLease(wrong)).toThrow(new RegExp(`postgresLease: ${name}`))
    }
    // How a pool fits is told when each option by itself is right.
    expect(() => postgresLease({ pool: wrong.pool })).toThrow('postgresLease: pool')
    const { pool } = fakePool({}, 1)
    expect(() => postgresLease({ pool, lockTimeoutMs: 5_000 })).toThrow('less than queryTimeoutMs')
    expect(postgresLease({ pool }).strategy).toBe('lease')
  })
})
