import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { keepResults } from '../../adapters/pg/inbox/statements/records.ts'
import { tablesIn } from '../../adapters/pg/statements/tables.ts'
import { type Store } from '../../src/index.ts'
import { failureOf, resultOf } from '../../src/internal.ts'
import { claim, hold, newItem, newToken } from '../../testing/contract/store/claims.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { server } from '../kit/servers/server.ts'
import { granting } from './fake-pool.ts'
import { ALONE, NO_REFUND, codeOf, describePostgres, lend, newPlace, type PgPlace } from './support.ts'

const FAILURE = failureOf({ name: 'Error', message: "no such customer, it's | gone" })

describe('results of postgresInbox', () => {
  it('cost nothing where there are none, and no message of their own where there are', async () => {
    const item = newItem()
    const { pool, sent } = granting(item)
    const inbox = postgresInbox({ pool })
    await inbox.mark([(await hold(inbox, item)).claim])
    const { length } = sent
    expect(sent.some((text) => text.includes('set result'))).toBe(false)
    await inbox.mark([(await hold(inbox, item)).claim], [resultOf(1)])
    expect(sent.filter((text) => text.includes('set result'))).toEqual([expect.stringMatching(/\ncommit$/)])
    // The scope is looked up by the first, and its first claim noted.
    expect(sent).toHaveLength(2 * length - 2)
  })
})

describePostgres('the results of a batch', () => {
  it('are written into the rows that there are, and make none', async () => {
    const place = await newPlace()
    try {
      await place.newInbox()
      const tables = tablesIn(place.schema)
      const [held, gone] = ['a'.repeat(32), 'b'.repeat(32)]
      await place.pool.query(`insert into ${tables.inbox} (scope, key) values (1, '\\x${held}')`)
      const { text } = keepResults(tables, 1, [
        [held, 'one'],
        [gone, 'other'],
      ])
      await place.pool.query(text)
      const { rows } = await place.pool.query(`select encode(key, 'hex') as key, result from ${tables.inbox}`)
      expect(rows).toEqual([{ key: held, result: 'one' }])
    } finally {
      await place.close()
    }
  })
})

describePostgres('failures that postgresInbox remembers', () => {
  let place: PgPlace
  let proxy: FaultProxy
  let inbox: Store<PgTransaction>

  beforeEach(async () => {
    place = await newPlace()
    const url = new URL((await server('postgres')).url)
    proxy = await startFaultProxy(Number(url.port || 5432))
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const pool = place.newPool({ connectionString: url.href })
    inbox = await place.newInbox({ pool, lockTimeoutMs: 100, queryTimeoutMs: 1_000 })
  })
  afterEach(async () => {
    await proxy.stop()
    await place.close()
  })

  it('are marked once, however often an answer is lost', async () => {
    await place.pool.query(`create function ${place.schema}.slow() returns trigger language plpgsql as
      $$ begin if new.result is not null then perform pg_sleep(0.5); end if; return null; end $$;
      create constraint trigger slow after insert on ${place.schema}.inbox deferrable initially deferred
      for each row execute function ${place.schema}.slow()`)
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    await place.write(lend(claimed).tx, item.key)
    const mark = codeOf(inbox.mark([claimed], [FAILURE]))
    await place.pool.query('select pg_sleep(0.1)')
    proxy.cut()
    expect(await mark).toBe('STORE_AMBIGUOUS')
    // Its backend is still at it.
    expect(await codeOf(inbox.mark([claimed], [FAILURE]))).toBe('STORE_AMBIGUOUS')
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['refused'])
    await place.pool.query('select pg_sleep(0.5)')
    expect(await inbox.mark([claimed], [FAILURE])).toEqual(['already-marked'])
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'done', result: FAILURE })
    expect(await place.committed(item.key)).toBe(0)
  })

  it('are marked on another connection where that of the claim is gone', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    await place.write(lend(claimed).tx, item.key)
    proxy.cut()
    expect(await inbox.mark([claimed], [FAILURE])).toEqual(['marked'])
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'done', result: FAILURE })
    expect(await place.committed(item.key)).toBe(0)
  })

  it('forget their attempts', async () => {
    const item = newItem()
    await inbox.release([(await hold(inbox, item)).claim], NO_REFUND)
    const again = await hold(inbox, item, ALONE)
    expect(await inbox.mark([again.claim], [FAILURE])).toEqual(['marked'])
    for (const table of ['attempt', 'claim']) {
      const { rows } = await place.pool.query(
        `select from ${place.schema}.${table} where ${table === 'claim' ? "keys <> '{}'" : true}`,
      )
      expect(rows).toEqual([])
    }
  })

  it.each([
    ['is at it', 'refused-busy'],
    ['has marked it', 'refused-done'],
    ['has set it aside', 'refused-busy'],
  ])('are refused where another owner %s', async (what, verdict) => {
    const item = newItem()
    const idle = await place.newInbox({ idleInTransactionTimeoutMs: 100, lockTimeoutMs: 100 })
    const { claim: claimed } = await hold(idle, item, { token: newToken() })
    const second = await place.newInbox({ lockTimeoutMs: 5_000 })
    const rival = await hold(second, item, ALONE)
    if (what === 'has marked it') await second.mark([rival.claim])
    if (what === 'has set it aside') await second.setAside([rival.claim], 'parked', { reason: 'why' })
    expect(await idle.mark([claimed], [FAILURE])).toEqual([verdict])
    const afterwards = what === 'is at it' ? await second.mark([rival.claim], [resultOf(1)]) : ['marked']
    expect(afterwards).toEqual(['marked'])
  })
})
