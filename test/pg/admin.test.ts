import { lentPlaces } from '../kit/lent-places.ts'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import type { DecideVerdict, Store } from '../../src/index.ts'
import type { ClaimItem, StoreAdmin, Why } from '../../src/internal.ts'
import { claim, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { ALONE, NO_REFUND, codeOf, describePostgres, withQueryHook, newPlace, type PgPlace } from './support.ts'

const WHY: Why = { by: 'ann', reason: 'ticket 7', retentionMs: 60_000 }
const DAY_MS = 86_400_000

describePostgres('decisions about records of postgresInbox', () => {
  const places = lentPlaces(() => newPlace())
  let place: PgPlace
  let inbox: Store<PgTransaction>
  let admin: StoreAdmin
  beforeEach(async () => {
    place = await places()
    inbox = await place.newInbox()
    admin = adminOf(inbox)
  })
  afterEach(() => place.close())

  const setAside = async (item: ClaimItem, as: 'given-up' | 'parked'): Promise<void> => {
    await inbox.setAside([(await hold(inbox, item)).claim], as, { reason: 'no luck' })
  }
  const audit = async (): Promise<unknown[]> => {
    const { rows } = await place.pool.query(
      `select decision, by_whom, reason, encode(key, 'hex') as key, before->>'outcome' as outcome,
         before->>'reason' as was, before->>'result' as result from ${place.schema}.audit order by at, decision`,
    )
    return rows
  }

  it('are written down, each once, with the record as it was', async () => {
    const [parked, done] = [newItem(), newItem()]
    await setAside(parked, 'parked')
    await inbox.mark([(await hold(inbox, done)).claim], ['v"result"'])
    for (let again = 0; again < 2; again++) await admin.resolve(SCOPE, [parked.key], { ...WHY, as: 'done' })
    for (let again = 0; again < 2; again++) await admin.forget(SCOPE, [done.key], WHY)
    await admin.reopen(SCOPE, [newItem().key, parked.key], WHY)
    const common = { by_whom: 'ann', reason: 'ticket 7' }
    expect(await audit()).toEqual([
      { ...common, decision: 'done', key: hexOf(parked), outcome: 'p', was: 'no luck', result: null },
      { ...common, decision: 'forget', key: hexOf(done), outcome: 'd', was: null, result: 'v"result"' },
    ])
  })

  it('lists replays in the order in which they were made, also where the clock has stepped back', async () => {
    const take = (id: string): unknown => admin.replays?.take(SCOPE, id, { owner: 'ops', ttlMs: DAY_MS, state: '{}' })
    await take('a')
    await place.pool.query(`update ${place.schema}.replay set created_at = created_at + interval '1 hour'`)
    for (const id of ['b', 'c']) await take(id)
    expect((await admin.replays?.list(SCOPE, 10))?.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  })

  it('are written down whatever their reason holds', async () => {
    const item = newItem()
    await setAside(item, 'parked')
    const why = { ...WHY, by: "o'hara", reason: 'it said "\u0000", 10 % | 5 \\' }
    expect(await admin.resolve(SCOPE, [item.key], { ...why, as: 'rerun' })).toEqual(['decided'])
    expect(await audit()).toMatchObject([{ by_whom: "o'hara", reason: 'it said "?", 10 % | 5 \\' }])
  })

  it('are not made where they cannot be written down', async () => {
    const item = newItem()
    await setAside(item, 'parked')
    await place.alter(`alter table ${place.schema}.audit rename to gone`)
    expect(await codeOf(admin.resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' }))).toMatch(/^STORE_/)
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'parked' })
  })

  it('answer for each key that is asked for, also twice, and for none', async () => {
    const item = newItem()
    await setAside(item, 'given-up')
    expect(await admin.reopen(SCOPE, [item.key, newItem().key, item.key], WHY)).toEqual([
      'decided',
      'already',
      'decided',
    ])
    expect(await admin.reopen(SCOPE, [], WHY)).toEqual([])
    expect(await admin.peek(SCOPE, [])).toEqual([])
  })

  it('wait for a claim that is about to end, and decide about what became of it', async () => {
    const second = adminOf(await place.newInbox({ lockTimeoutMs: 5_000 }))
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const forgotten = second.forget(SCOPE, [item.key], WHY)
    await place.waiting()
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect(await forgotten).toEqual(['decided'])
    const again = await hold(inbox, item)
    expect(again.attempt).toBe(1)
    await inbox.release([again.claim], NO_REFUND)
  })

  it('are one after the other where several people decide at once, beside claims', async () => {
    const admins = [admin, adminOf(await place.newInbox()), adminOf(await place.newInbox())]
    const rival = await place.newInbox()
    let decided = 0
    for (let round = 0; round < 25; round++) {
      const item = newItem()
      await setAside(item, 'parked')
      const decisions = admins.map((one, index) =>
        one.resolve(SCOPE, [item.key], { ...WHY, as: index === 1 ? 'done' : 'rerun' }),
      )
      const answer = await claim(rival, item)
      if ('claim' in answer) await rival.mark([answer.claim])
      const verdicts = (await Promise.all(decisions)).flat()
      const made = verdicts.filter((verdict) => verdict === 'decided').length
      expect(made).toBeGreaterThan(0)
      decided += made
      const last = await claim(rival, item)
      if ('claim' in last) await rival.release([last.claim], NO_REFUND)
    }
    expect(await audit()).toHaveLength(decided)
  })

  it('leave nothing of themselves behind where nothing is decided', async () => {
    const item = newItem()
    for (const as of ['done', 'rerun'] as const) {
      const expected: DecideVerdict = as === 'done' ? 'refused' : 'already'
      expect(await admin.resolve(SCOPE, [item.key], { ...WHY, as })).toEqual([expected])
    }
    expect((await place.pool.query(`select * from ${place.schema}.inbox`)).rows).toEqual([])
    expect(await audit()).toEqual([])
  })

  it('can tell what is being handled from what has failed, and from what was never seen', async () => {
    const [running, failed] = [newItem(), newItem()]
    const { claim: claimed } = await hold(inbox, running)
    await inbox.release([(await hold(inbox, failed)).claim], NO_REFUND)
    const keys = [running.key, failed.key, newItem().key]
    expect(await admin.peek(SCOPE, keys)).toEqual([
      { state: 'processing', attempt: 1 },
      { state: 'released', digest: failed.digest, attempt: 1 },
      { state: 'absent' },
    ])
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect(await admin.peek(SCOPE, keys.slice(0, 1))).toEqual([
      { state: 'done', digest: running.digest, since: expect.any(Number) },
    ])
  })

  it('find what was set aside by an index, however much is done', async () => {
    const items = Array.from({ length: 3 }, () => newItem())
    for (const item of items) await setAside(item, 'given-up')
    await place.pool.query(`insert into ${place.schema}.inbox (scope, key)
      select 1, decode(md5(n::text), 'hex') from generate_series(1, 20000) n; analyze ${place.schema}.inbox`)
    const { records, next } = await admin.list(SCOPE, { state: 'given-up', limit: 10 })
    const views = records.map(({ state, reason }) => [state, reason])
    expect(views).toEqual(items.map(() => ['given-up', 'no luck']))
    expect(next).toBeUndefined()
    const { rows } = await place.pool.query(
      `explain select key from ${place.schema}.inbox where scope = 1 and key > '' and outcome = 'g' and outcome <> 'd'
       order by key limit 11`,
    )
    expect(JSON.stringify(rows)).toContain('inbox_aside')
    expect(await admin.list(SCOPE, { state: 'processing', limit: 1 })).toEqual({
      records: [],
      looked: 0,
      next: undefined,
    })
    expect((await admin.list(SCOPE, { state: 'done', limit: 2 })).records).toHaveLength(2)
  })
})

describePostgres('the purge of postgresInbox', () => {
  const places = lentPlaces(() => newPlace())
  let place: PgPlace
  let inbox: Store<PgTransaction>
  let admin: StoreAdmin
  beforeEach(async () => {
    place = await places()
    inbox = await place.newInbox()
    admin = adminOf(inbox)
  })
  afterEach(() => place.close())

  const older = async (item: ClaimItem): Promise<void> => {
    const ago = `now() - interval '2 days'`
    await place.pool.query(`update ${place.schema}.inbox set done_at = ${ago}, keep_until = ${ago} where key = $1`, [
      Buffer.from(hexOf(item), 'hex'),
    ])
  }
  const daily = (limit = 100): ReturnType<StoreAdmin['purge']> => admin.purge(SCOPE, { retentionMs: DAY_MS, limit })

  it('removes what was done or given up longer ago than retention, and never what is parked', async () => {
    const [done, recent, givenUp, parked] = [newItem(), newItem(), newItem(), newItem()]
    for (const item of [done, recent]) await inbox.mark([(await hold(inbox, item)).claim])
    await inbox.setAside([(await hold(inbox, givenUp)).claim], 'given-up', { reason: 'no luck' })
    await inbox.setAside([(await hold(inbox, parked)).claim], 'parked', { reason: 'no luck' })
    for (const item of [done, givenUp, parked]) await older(item)
    expect(await admin.purge('another/scope', { retentionMs: DAY_MS, limit: 100 })).toEqual({ removed: 0, more: false })
    expect(await daily()).toEqual({ removed: 2, more: false })
    const states = await admin.peek(
      SCOPE,
      [done, recent, givenUp, parked].map(({ key }) => key),
    )
    expect(states.map(({ state }) => state)).toEqual(['absent', 'done', 'absent', 'parked'])
  })

  it('knows nothing of before the last purge, though its first claim was long ago', async () => {
    const item = newItem()
    await inbox.mark([(await hold(inbox, item)).claim])
    await older(item)
    await daily()
    const { rows } = await place.pool.query(
      `update ${place.schema}.scope set first_claim_at = now() - interval '9 days' returning extract(epoch from now()) * 1000 as now`,
    )
    const known = await admin.knownSince?.(SCOPE)
    expect(known?.because).toBe('the last purge')
    const agoMs = Number(rows[0]?.now) - (known?.at ?? 0)
    expect(agoMs).toBeLessThan(DAY_MS + 10_000)
    expect(agoMs).toBeGreaterThan(DAY_MS - 10_000)
  })

  it('lets a redelivery that comes later than retention run again [T13]', async () => {
    const item = newItem()
    const { claim: first } = await hold(inbox, item)
    await inbox.mark([first])
    await older(item)
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
    await daily()
    const { claim: late, attempt } = await hold(inbox, item)
    expect(attempt).toBe(1)
    expect(await inbox.mark([late])).toEqual(['marked'])
    expect(await inbox.mark([first])).toEqual(['already-marked'])
  })

  it('goes on in bounded batches', async () => {
    await admin.peek(SCOPE, [newItem().key])
    await place.pool.query(`insert into ${place.schema}.inbox (scope, key, done_at, keep_until)
      select 1, decode(md5(n::text), 'hex'), now() - interval '2 days', now() - interval '1 day' from generate_series(1, 25) n`)
    expect([await daily(10), await daily(10), await daily(10), await daily(10)]).toEqual([
      { removed: 10, more: true },
      { removed: 10, more: true },
      { removed: 5, more: false },
      { removed: 0, more: false },
    ])
  })

  it('forgets attempts of what never ended', async () => {
    const [tried, recent] = [newItem(), newItem()]
    for (const item of [tried, recent]) await inbox.release([(await hold(inbox, item)).claim], NO_REFUND)
    const ago = `now() - interval '2 days'`
    await place.pool.query(`update ${place.schema}.claim set at = ${ago}, keep_until = ${ago} where $1 = any (keys)`, [
      Buffer.from(hexOf(tried), 'hex'),
    ])
    expect(await daily()).toEqual({ removed: 1, more: false })
    const [first, second] = [await hold(inbox, tried, ALONE), await hold(inbox, recent, ALONE)]
    expect([first.attempt, second.attempt]).toEqual([1, 2])
    for (const { claim: claimed } of [first, second]) await inbox.release([claimed], NO_REFUND)
  })

  it('leaves what somebody else holds, and waits for nobody', async () => {
    const [held, free] = [newItem(), newItem()]
    for (const item of [held, free]) {
      await inbox.mark([(await hold(inbox, item)).claim])
      await older(item)
    }
    const other = await place.newPool().connect()
    await other.query('begin')
    await other.query(`select 1 from ${place.schema}.inbox where key = $1 for update`, [
      Buffer.from(hexOf(held), 'hex'),
    ])
    expect(await daily()).toEqual({ removed: 1, more: false })
    await other.query('rollback')
    other.release()
    expect(await daily()).toEqual({ removed: 1, more: false })
  })

  it('goes through the table in steps where the index does not tell what is old', async () => {
    let isCanceled = false
    const looks: string[] = []
    const pool = withQueryHook(place.newPool(), async (text) => {
      if (!text.includes('with removed')) return
      looks.push(/ctid >= '\((\d+),0\)'/.exec(text)?.[1] ?? 'by the index')
      if (isCanceled) return
      isCanceled = true
      throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
    })
    const slow = adminOf(await place.newInbox({ pool }))
    const [old, recent] = [newItem(), newItem()]
    for (const item of [old, recent]) await inbox.mark([(await hold(inbox, item)).claim])
    await older(old)
    const how = { retentionMs: DAY_MS, limit: 100 }
    expect(await slow.purge(SCOPE, how)).toEqual({ removed: 1, more: false })
    expect(await slow.purge(SCOPE, how)).toEqual({ removed: 0, more: false })
    // The first look at pages only learns how many there are.
    expect(looks).toEqual(['by the index', '0', '0', 'by the index'])
    expect(await claim(inbox, recent)).toMatchObject({ verdict: 'done' })
  })

  it('is done by one process at a time', async () => {
    const second = adminOf(await place.newInbox())
    await admin.peek(SCOPE, [newItem().key])
    await place.alter(`insert into ${place.schema}.inbox (scope, key, done_at, keep_until)
      select 1, decode(md5(n::text), 'hex'), now() - interval '2 days', now() - interval '1 day' from generate_series(1, 200) n;
      create function ${place.schema}.slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.3); return null; end $$;
      create trigger slow after delete on ${place.schema}.inbox for each statement execute function ${place.schema}.slow()`)
    const how = { retentionMs: DAY_MS, limit: 50 }
    const purges = await Promise.all([admin.purge(SCOPE, how), second.purge(SCOPE, how)])
    expect(purges.toSorted((a, b) => a.removed - b.removed)).toEqual([
      { removed: 0, more: false },
      { removed: 50, more: true },
    ])
  })
})

function adminOf(store: Store<unknown>): StoreAdmin {
  if (store.admin === undefined) throw new Error('expected a store with admin')
  return store.admin
}

function hexOf({ key }: ClaimItem): string {
  return Buffer.from(key, 'base64url').toString('hex', 0, 16)
}
