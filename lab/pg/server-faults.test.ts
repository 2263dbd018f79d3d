import { expect, it } from '@jest/globals'
import type { Pool } from 'pg'
import { postgresLease, type PgTransaction } from '../../adapters/pg/index.ts'
import type { TransactionClaim } from '../../src/internal.ts'
import { claim, type Granted, hold, newItem } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { untilResolved } from '../../test/kit/eventually.ts'
import { itSurvivesItsServer } from '../stores/server-in-trouble.ts'
import { beforeAllOpen, openedForEach } from '../../test/kit/opened.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import {
  ALONE,
  NO_REFUND,
  REFUND,
  codeOf,
  describePostgres,
  lend,
  newPlace,
  pidOf,
  type PgPlace,
} from '../../test/pg/support.ts'

const IMPATIENT = { lockTimeoutMs: 100, queryTimeoutMs: 400 }

describePostgres('postgresInbox on a server that fails', () => {
  let server: Awaited<ReturnType<typeof startPrivatePostgres>>
  let place: PgPlace
  beforeAllOpen(async (own) => (server = own(await startPrivatePostgres())))
  openedForEach(
    () => newPlace(server.url),
    (made) => (place = made),
  )

  const calm = (): Pool => {
    const pool = place.newPool()
    pool.on('error', () => {})
    return pool
  }

  it('does not take a COMMIT for lost whose backend is frozen and commits when it thaws', async () => {
    const inbox = await place.newInbox({ pool: calm(), ...IMPATIENT })
    const { item, claim: claimed } = await holdNew(inbox)
    const { tx } = lend(claimed)
    await place.write(tx, item.key)
    const pid = await pidOf(tx)
    process.kill(pid, 'SIGSTOP')
    try {
      expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
      // Nothing of it is seen, which proves nothing.
      expect(await place.committed(item.key)).toBe(0)
      expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
      expect(await claim(inbox, item, ALONE)).toMatchObject({ verdict: 'busy' })
      expect(await inbox.release([claimed], NO_REFUND)).toEqual(['refused'])
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect(await untilResolved(() => inbox.mark([claimed]))).toEqual(['already-marked'])
    expect(await place.committed(item.key)).toBe(1)
  })

  itSurvivesItsServer(
    () => ({
      server,
      newInbox: (options) => place.newInbox({ pool: calm(), ...options }),
      newLease: async (options) => {
        const lease = postgresLease({ pool: calm(), schema: place.schema, ...options })
        await lease.open()
        return lease
      },
      write: place.write,
      committed: place.committed,
    }),
    { impatient: IMPATIENT, leaseMs: 200, attempts: [1], frozenMark: /^already-marked$/ },
  )

  it('rolls back what is open when the server restarts, gives the attempt back, and claims again at once', async () => {
    const inbox = await place.newInbox({ pool: calm() })
    const [open, done] = [newItem(), newItem()]
    await inbox.mark([(await hold(inbox, done)).claim])
    const { claim: claimed } = await hold(inbox, open)
    await place.write(lend(claimed).tx, open.key)
    await server.restart()
    expect(await codeOf(inbox.mark([claimed]))).toMatch(/^STORE_/)
    expect(await untilResolved(() => inbox.mark([claimed]))).toEqual(['refused-busy'])
    expect(await claim(inbox, done)).toMatchObject({ verdict: 'done' })
    const again = await hold(inbox, open)
    expect(again.attempt).toBe(1)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
    expect(await place.committed(open.key)).toBe(0)
  }, 60_000)
})

describePostgres('postgresInbox beside others', () => {
  let place: PgPlace
  openedForEach(newPlace, (made) => (place = made))

  it('claims, marks and releases with one connection where others have taken the rest of the pool', async () => {
    const pool = place.newPool({ max: 2 })
    const inbox = await place.newInbox({ pool, ...IMPATIENT })
    const [done, given] = [newItem(), newItem()]
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const taken = await pool.connect()
    expect(await inbox.mark([(await hold(inbox, done)).claim])).toEqual(['marked'])
    expect(await claim(inbox, done)).toMatchObject({ verdict: 'done' })
    for (const how of [{}, ALONE]) {
      const { claim: claimed, attempt } = await hold(inbox, given, how)
      expect(attempt).toBe(1)
      expect(await inbox.release([claimed], REFUND)).toEqual(['released'])
    }
    const last = await hold(inbox, given)
    expect(await inbox.setAside([last.claim], 'parked', { reason: 'no luck' })).toEqual(['parked'])
    taken.release()
  })

  it('gives the attempt back of a handler that a deadlock has chosen to lose', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    await place.pool.query(`insert into ${place.schema}.effect values ('a'), ('b')`)
    const items = [newItem(), newItem()] as const
    const claims = [await hold(first, items[0]), await hold(second, items[1])] as const
    const touch = async (granted: Granted, name: string): Promise<unknown> => {
      const { tx } = lend(granted.claim as TransactionClaim<PgTransaction>)
      return tx.query(`update ${place.schema}.effect set name = name where name = $1`, [name])
    }
    await touch(claims[0], 'a')
    await touch(claims[1], 'b')
    const crossed = await Promise.allSettled([touch(claims[0], 'b'), touch(claims[1], 'a')])
    const loser = crossed.findIndex(({ status }) => status === 'rejected')
    expect(crossed[loser]).toMatchObject({ reason: { code: '40P01' } })
    const [lost, won] = loser === 0 ? [first, second] : [second, first]
    expect(await lost.release([claims[loser === 0 ? 0 : 1].claim], NO_REFUND)).toEqual(['released'])
    expect(await won.mark([claims[loser === 0 ? 1 : 0].claim])).toEqual(['marked'])
    const again = await hold(lost, items[loser === 0 ? 0 : 1])
    expect(again.attempt).toBe(1)
    await lost.release([again.claim], NO_REFUND)
  })

  it('does not count a query as lost that the query_timeout of the pool gave up', async () => {
    const inbox = await place.newInbox({ pool: place.newPool({ query_timeout: 200 }) })
    const commits = await place.holdCommits()
    const { item, claim: claimed } = await holdNew(inbox)
    await place.write(lend(claimed).tx, item.key)
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['refused'])
    await commits.letGo()
    expect(await untilResolved(() => inbox.mark([claimed]))).toEqual(['already-marked'])
    expect(await place.committed(item.key)).toBe(1)
  })

  it('claims and marks whatever isolation its role has, and again where it was chosen to lose', async () => {
    const strict = '-c default_transaction_isolation=serializable -c default_transaction_deferrable=on'
    const inbox = await place.newInbox({ pool: place.newPool({ options: strict }) })
    await inbox.mark([(await hold(inbox, newItem())).claim])
    // Sequences are not rolled back: it fails twice.
    await place.pool.query(`create sequence ${place.schema}.tries;
      create function ${place.schema}.lose() returns trigger language plpgsql as $$ begin
        if nextval('${place.schema}.tries') <= 2 then
          raise exception 'could not serialize access' using errcode = '40001';
        end if; return null; end $$;
      create trigger lose after insert on ${place.schema}.inbox for each row execute function ${place.schema}.lose()`)
    const { item, ...granted } = await holdNew(inbox)
    expect(granted.attempt).toBe(1)
    expect((await place.pool.query(`select last_value::int as n from ${place.schema}.tries`)).rows).toEqual([{ n: 3 }])
    const rival = await place.newInbox()
    const waits = claim(rival, item, ALONE)
    await place.waiting()
    expect(await inbox.mark([granted.claim])).toEqual(['marked'])
    expect(await waits).toMatchObject({ verdict: 'done' })
  })

  it('tells a 40001 of the COMMIT as a failure that spends no attempt, and commits nothing', async () => {
    const inbox = await place.newInbox()
    await place.pool.query(`create function ${place.schema}.lose() returns trigger language plpgsql as
      $$ begin raise exception 'could not serialize access' using errcode = '40001'; end $$;
      create constraint trigger lose after insert on ${place.schema}.effect deferrable initially deferred
      for each row execute function ${place.schema}.lose()`)
    const { item, claim: claimed } = await holdNew(inbox)
    await place.write(lend(claimed).tx, item.key)
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['released'])
    expect(await place.committed(item.key)).toBe(0)
    const again = await hold(inbox, item)
    expect(again.attempt).toBe(1)
    await inbox.release([again.claim], NO_REFUND)
  })

  it('finds the mark of an earlier day', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    await inbox.mark([(await hold(inbox, item)).claim])
    await place.pool.query(`update ${place.schema}.inbox set done_at = done_at - interval '1 day'`)
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
  })

  it('keeps the attempt of a handler whose own statement failed', async () => {
    const inbox = await place.newInbox()
    const { item, claim: claimed } = await holdNew(inbox)
    await lend(claimed)
      .tx.query('select 1 / 0')
      .catch(() => {})
    await inbox.release([claimed], NO_REFUND)
    const again = await hold(inbox, item, ALONE)
    expect(again.attempt).toBe(2)
    await inbox.release([again.claim], NO_REFUND)
  })
})
