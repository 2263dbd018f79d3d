import { afterEach, expect, it } from '@jest/globals'
import type { TypeCastField as Field } from 'mysql2/promise'
import { postgresLease } from '../../adapters/pg/index.ts'
import { mysqlLease } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import { claim, grantedBy, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { describeMariadb, newMysqlPlace } from '../mysql/support.ts'
import { describePostgres, newPlace } from '../pg/support.ts'

const WHY = { by: 'ann', reason: 'ticket 7', retentionMs: 60_000 }

let close: () => Promise<unknown>
afterEach(() => close())

/** Reads rows of every kind: of claims, marks, attempts, records, scopes and settings. */
async function assert(store: Store<unknown>): Promise<void> {
  const [done, failed, parked] = [newItem(), newItem(), newItem()]
  const { claim: claimed } = await hold(store, done)
  expect(await store.mark([claimed], ['"kept"'])).toEqual(['marked'])
  const duplicate = await claim(store, done)
  const [seen] = (await store.admin?.peek(SCOPE, [done.key])) ?? []
  expect([duplicate, seen]).toMatchObject([
    { verdict: 'done', result: '"kept"', since: expect.any(Number) },
    { state: 'done', result: '"kept"', since: 'since' in duplicate ? duplicate.since : undefined },
  ])
  // The servers are on this machine: in milliseconds, and of no other time zone.
  expect(Math.abs(Number(seen?.since) - Date.now())).toBeLessThan(60_000)
  const first = await hold(store, failed)
  await store.release([first.claim], { refund: false, doubt: false, delayMs: 0, cause: 'no luck' })
  const second = grantedBy(await claim(store, failed, { alone: true }))
  expect(second.attempt).toBe(2)
  const aside = grantedBy(await claim(store, parked))
  await store.setAside([aside.claim], 'parked', { reason: 'why' })
  const [view] = (await store.admin?.peek(SCOPE, [parked.key])) ?? []
  expect(view).toMatchObject({ state: 'parked', reason: 'why', attempt: 1, since: expect.any(Number) })
  const page = await store.admin?.list(SCOPE, { state: 'done', limit: 10 })
  expect(page?.records.map(({ key }) => key)).toHaveLength(1)
  expect(await store.admin?.resolve(SCOPE, [parked.key], { ...WHY, as: 'rerun' })).toEqual(['decided'])
  expect(await store.admin?.purge(SCOPE, { retentionMs: 60_000, limit: 10 })).toEqual({ removed: 0, more: false })
  const again = grantedBy(await claim(store, parked))
  expect(again.attempt).toBe(1)
  for (const open of [second, again]) await store.release([open.claim], { refund: true, doubt: false })
  expect((await store.checkup?.())?.length).toBeGreaterThan(0)
}

describePostgres('a pg Pool with type parsers of its user', () => {
  const types = { getTypeParser: () => (text: string) => `raw ${text}` } as never

  it.each(['inbox', 'flush-ticker', 'lease'] as const)('is read as any other: %s', async (kind) => {
    const place = await newPlace()
    close = place.close
    const pool = place.newPool({ types })
    const { schema } = place
    const durability = kind === 'flush-ticker' ? kind : 'commit'
    const store = kind === 'lease' ? postgresLease({ pool, schema }) : await place.newInbox({ pool, durability })
    await store.open()
    await assert(store)
  })

  it('is read as any other: offsets', async () => {
    const place = await newPlace()
    close = place.close
    const store = await place.newOffsets({ pool: place.newPool({ types }) })
    for (const offset of [5n, 6n]) {
      const position = { stream: 't/0', offset, follows: offset === 5n ? undefined : 5n }
      const { claim: claimed } = await hold(store, { ...newItem(), position })
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await claim(store, { ...newItem(), position })).toMatchObject({ verdict: 'done' })
    }
    expect((await store.positions?.next(SCOPE, ['t/0']))?.get('t/0')).toMatchObject({ next: 7n })
  })

  it('still parses what a handler reads', async () => {
    const place = await newPlace()
    close = place.close
    const inbox = await place.newInbox({ pool: place.newPool({ types }) })
    const { claim: claimed } = await hold(inbox, newItem())
    const { rows } = (await claimed.transaction?.lend().tx.query('select true as yes')) ?? { rows: [] }
    expect(rows).toEqual([{ yes: 'raw t' }])
    await inbox.mark([claimed])
  })
})

describeMariadb('a mysql2 pool with a typeCast of its user', () => {
  it.each(['inbox', 'lease'] as const)('is read as any other: %s', async (kind) => {
    const place = await newMysqlPlace()
    close = place.close
    const pool = place.newPool({ typeCast, bigNumberStrings: true, supportBigNumbers: true, dateStrings: true })
    const store = kind === 'lease' ? mysqlLease({ pool }) : await place.newInbox({ pool })
    await store.open()
    await assert(store)
  })

  it('still casts what a handler reads', async () => {
    const place = await newMysqlPlace()
    close = place.close
    const inbox = await place.newInbox({ pool: place.newPool({ typeCast }) })
    const { claim: claimed } = await hold(inbox, newItem())
    const [rows] = (await claimed.transaction?.lend().tx.query('select 1 as one')) ?? []
    expect(rows).toEqual([{ one: ['raw', '1'] }])
    await inbox.mark([claimed])
  })
})

function typeCast(field: Field): unknown {
  return ['raw', field.string()]
}
