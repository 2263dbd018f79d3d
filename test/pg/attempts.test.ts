import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { expect, it } from '@jest/globals'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { InboxStore, TransactionClaim } from '../../src/internal.ts'
import { claim, claimAll, grantedBy, hold, newItem, newToken, SCOPE } from '../../testing/contract/store/claims.ts'
import {
  ALONE,
  NO_REFUND,
  REFUND,
  codeOf,
  describePostgres,
  withQueryHook,
  lend,
  newPlace,
  type PgPlace,
} from './support.ts'

describePostgres('attempts of postgresInbox', () => {
  let place: PgPlace
  openedForEach(
    lentPlaces(() => newPlace()),
    (made) => (place = made),
  )

  const counts = async (): Promise<readonly number[]> => {
    const { rows } = await place.pool.query(`select sum(n)::int as n from (
      select key, n from ${place.schema}.attempt union all select unnest(keys), 1 from ${place.schema}.claim) as counted
      group by key order by n`)
    return (rows as { n: number }[]).map(({ n }) => n)
  }

  it('survive a rollback and the death of the connection that claimed', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    await inbox.release([(await hold(inbox, item)).claim], NO_REFUND)
    const { claim: claimed } = await hold(inbox, item, ALONE)
    const { rows } = await lend(claimed).tx.query<{ pid: number }>('select pg_backend_pid() as pid')
    await place.pool.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
    const second = await place.newInbox()
    const third = await hold(second, item, ALONE)
    await second.release([third.claim], NO_REFUND)
    const renewed = await inbox.renew([claimed], 1)
    await inbox.release([claimed], NO_REFUND)
    expect(renewed).toEqual(['lost'])
    expect(third.attempt).toBe(3)
  })

  it('are committed before the handler starts, with no connection but that of the claim', async () => {
    const pool = place.newPool({ max: 2 })
    const inbox = await place.newInbox({ pool })
    pool.on('acquire', () => expect(pool.totalCount - pool.idleCount).toBeLessThanOrEqual(1))
    const answers = await claimAll(inbox, [newItem(), newItem()])
    expect(await counts()).toEqual([1, 1])
    await inbox.release(
      answers.map((answer) => grantedBy(answer).claim),
      REFUND,
    )
    expect(await counts()).toEqual([])
  })

  it('are not waited for until they are flushed', async () => {
    const inbox = await place.newInbox()
    await place.alter(`create table ${place.schema}.noted (setting text);
      create function ${place.schema}.note() returns trigger language plpgsql as
      $$ begin insert into ${place.schema}.noted values (current_setting('synchronous_commit')); return null; end $$;
      create constraint trigger note after insert on ${place.schema}.claim deferrable initially deferred
      for each row execute function ${place.schema}.note()`)
    const item = newItem()
    await inbox.release([(await hold(inbox, item)).claim], NO_REFUND)
    await inbox.release([(await hold(inbox, item, ALONE)).claim], REFUND)
    const { rows } = await place.pool.query(`select setting from ${place.schema}.noted`)
    expect(rows).toEqual([{ setting: 'off' }, { setting: 'off' }])
  })

  it.each(['repeatable\\ read', 'serializable'])(
    'are counted where two claims of a key are counted at one moment, at %s',
    async (level) => {
      const options = `-c default_transaction_isolation=${level}`
      const inboxes = [
        await place.newInbox({ pool: place.newPool({ options }) }),
        await place.newInbox({ pool: place.newPool({ options }) }),
      ]
      const item = newItem()
      const commits = await place.holdCommits('claim')
      const attempts: number[] = []
      const tried = inboxes.map(async (inbox) => {
        const answer = await claim(inbox, item, ALONE)
        if (!('claim' in answer)) return
        attempts.push(answer.attempt)
        await inbox.release([answer.claim], NO_REFUND)
      })
      await commits.waiting(inboxes.length)
      await commits.letGo()
      await Promise.all(tried)
      const [inbox] = inboxes as [InboxStore<PgTransaction>]
      await eventually(async () => {
        const answer = await claim(inbox, item, ALONE)
        if (!('claim' in answer)) return false
        attempts.push(answer.attempt)
        await inbox.release([answer.claim], NO_REFUND)
        return true
      })
      const tooMany = level === 'serializable' ? 1 : 0
      // A claim that Postgres cancels after it has moved its row (40001) counts as an attempt until its count is taken back. So one
      // attempt may be too many, and none is missing.
      expect(attempts.filter((attempt, at) => attempt <= at)).toEqual([])
      expect(attempts.filter((attempt, at) => attempt > at + 1 + tooMany)).toEqual([])
    },
  )

  it('are counted once by a claim that is sent again after its answer was lost', async () => {
    const item = newItem()
    const inbox = await place.newInbox({ lockTimeoutMs: 100, queryTimeoutMs: 300 })
    const how = { ...ALONE, token: newToken() }
    // The count commits, but its answer stays out for longer than the inbox waits.
    await place.alter(`create function ${place.schema}.slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.5); return null; end $$;
      create constraint trigger slow after insert on ${place.schema}.claim deferrable initially deferred
      for each row execute function ${place.schema}.slow()`)
    expect(await codeOf(claim(inbox, item, how))).toBe('STORE_AMBIGUOUS')
    await place.pool.query('select pg_sleep(0.5)')
    expect(await counts()).toEqual([1])
    const granted = await hold(inbox, item, how)
    expect(granted.attempt).toBe(1)
    expect(await inbox.mark([granted.claim])).toEqual(['marked'])
    expect(await counts()).toEqual([])
  })

  it('are given back before the rollback, so that whoever waits for the row counts from there', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    for (let round = 0; round < 20; round++) {
      const item = newItem()
      const { claim: claimed } = await hold(first, item)
      const rival = claim(second, item, ALONE)
      await first.release([claimed], REFUND)
      const granted = grantedBy(await rival)
      expect(granted.attempt).toBe(1)
      await second.mark([granted.claim])
    }
  })

  it('are given back by a claim that is over without those that another has counted since', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    const item = newItem()
    const { claim: claimed } = await hold(first, item)
    await first.release([claimed], NO_REFUND)
    const rival = await hold(second, item, ALONE)
    expect(await first.release([claimed], REFUND)).toEqual(['already-released'])
    expect(await counts()).toEqual([1])
    await second.mark([rival.claim])
  })

  it('are given back by a claim that is over without those that another has counted since, and is over too', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    const item = newItem()
    const { claim: claimed } = await hold(first, item)
    await first.release([claimed], NO_REFUND)
    const rival = await hold(second, item, ALONE)
    await second.release([rival.claim], NO_REFUND)
    expect(await first.release([claimed], REFUND)).toEqual(['already-released'])
    expect(await counts()).toEqual([1])
  })

  it('are not those of a claim that is granted nothing while this one waits for the key', async () => {
    const second = await place.newInbox()
    const item = newItem()
    await second.release([(await hold(second, item)).claim], NO_REFUND)
    await place.alter(`create function ${place.schema}.slow() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.3); return null; end $$;
      create trigger slow before delete on ${place.schema}.claim for each statement execute function ${place.schema}.slow()`)
    let rival: ReturnType<typeof claim<PgTransaction>> | undefined
    let isOpen = false
    const pool = withQueryHook(place.newPool(), async (text) => {
      if (!isOpen || rival !== undefined || !text.startsWith('with asked')) return
      rival = claim(second, item, ALONE)
      await place.waiting()
    })
    const first = await place.newInbox({ pool })
    isOpen = true
    const met = claim(first, item)
    await eventually(async () => rival !== undefined)
    const granted = grantedBy(await rival)
    await second.mark([granted.claim])
    expect(granted.attempt).toBe(2)
    expect(await met).toMatchObject({ verdict: expect.stringMatching(/done|again-alone/) })
  })

  it('count while another key of the claim that died is set aside', async () => {
    const [first, second, third] = [await place.newInbox(), await place.newInbox(), await place.newInbox()]
    const [item, other] = [newItem(), newItem()]
    const lock = `hashtext('${place.schema}')`
    // Whoever takes a key out of a claim waits before it commits.
    await place.alter(`create function ${place.schema}.wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(${lock}); return null; end $$;
      create constraint trigger wait after update on ${place.schema}.claim deferrable initially deferred
      for each row when (new.phase = 'e') execute function ${place.schema}.wait()`)
    const answers = await claimAll(first, [item, other])
    const dead = answers.map((answer) => grantedBy(answer).claim)
    const { rows } = await lend(grantedBy(answers[0]).claim).tx.query<{ pid: number }>('select pg_backend_pid() as pid')
    await place.terminate(rows[0]?.pid ?? 0)
    const { claim: claimed } = await hold(second, item, ALONE)
    const gate = await place.pool.connect()
    await gate.query(`select pg_advisory_lock(${lock})`)
    const aside = second.setAside([claimed], 'given-up', { reason: 'attempts-spent' })
    await place.waiting()
    const granted = await hold(third, other, ALONE)
    await gate.query('select pg_advisory_unlock_all()')
    gate.release()
    expect(await aside).toEqual(['given-up'])
    await third.mark([granted.claim])
    await first.release(dead, NO_REFUND)
    expect(granted.attempt).toBe(2)
  })

  it('begin anew for what was set aside and is opened again', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    for (const how of [{}, ALONE]) await inbox.release([(await hold(inbox, item, how)).claim], NO_REFUND)
    const third = await hold(inbox, item, ALONE)
    expect(await inbox.setAside([third.claim], 'given-up', { reason: 'attempts-spent' })).toEqual(['given-up'])
    expect(await counts()).toEqual([])
    await place.pool.query(`delete from ${place.schema}.inbox`)
    const again = await hold(inbox, item)
    expect(again.attempt).toBe(1)
    await inbox.release([again.claim], NO_REFUND)
  })

  /** The server has ended an idle transaction. */
  const lost = async (inbox: Store<PgTransaction>, claimed: TransactionClaim<PgTransaction>): Promise<void> => {
    while ((await inbox.renew([claimed], 1))[0] === 'renewed') await place.pool.query('select pg_sleep(0.01)')
  }

  const LATER = { ...NO_REFUND, delayMs: 60_000, cause: 'Error: no card' }

  it('hold the next one back for a claim that already waits for the row, and for a batch beside what is free', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    const [item, fresh] = [newItem(), newItem()]
    const { claim: claimed } = await hold(first, item)
    const rival = claim(second, item, ALONE)
    await place.waiting()
    await first.release([claimed], LATER)
    expect(await rival).toEqual({ verdict: 'busy', leaseLeftMs: expect.any(Number) })
    expect(await counts()).toEqual([1])
    const [held, granted] = await claimAll(second, [item, fresh])
    expect(held).toMatchObject({ verdict: 'busy' })
    expect(await second.mark([grantedBy(granted).claim])).toEqual(['marked'])
    expect(await counts()).toEqual([1])
  })

  it('hold the next one back where the connection of the claim is gone, once', async () => {
    const inbox = await place.newInbox({ idleInTransactionTimeoutMs: 100 })
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    await lost(inbox, claimed)
    // No text of a database has a NUL.
    const how = { ...LATER, cause: 'Error: zero \0 byte' }
    expect(await inbox.release([claimed], how)).toEqual(['released'])
    expect(await claim(inbox, item, ALONE)).toMatchObject({ verdict: 'busy' })
    const view = await inbox.admin?.peek(SCOPE, [item.key])
    expect(view).toMatchObject([{ state: 'released', attempt: 1, cause: 'Error: zero ? byte' }])
    expect(await inbox.release([claimed], { ...NO_REFUND, delayMs: 1 })).toEqual(['already-released'])
    expect(await inbox.admin?.peek(SCOPE, [item.key])).toEqual(view)
  })

  it('hold back nothing that another owner has counted since', async () => {
    const [first, second] = [await place.newInbox({ idleInTransactionTimeoutMs: 100 }), await place.newInbox()]
    const item = newItem()
    const { claim: claimed } = await hold(first, item)
    await lost(first, claimed)
    const rival = await hold(second, item, ALONE)
    await first.release([claimed], LATER)
    await second.release([rival.claim], REFUND)
    const again = await hold(second, item, ALONE)
    expect(again.attempt).toBe(2)
    await second.mark([again.claim])
  })

  it('are asked for once, in one message, by a claim that finds nothing but what is held back', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    await inbox.release([(await hold(inbox, item)).claim], LATER)
    const sent: string[] = []
    const pool = withQueryHook(place.newPool(), async (text) => void sent.push(text))
    const second = await place.newInbox({ pool })
    await claim(second, newItem({ key: item.key }))
    sent.length = 0
    expect(await claim(second, item)).toMatchObject({ verdict: 'busy' })
    expect(sent.filter((text) => text.startsWith('begin'))).toHaveLength(1)
    expect(sent.at(-1)).toMatch(/^rollback to savepoint .*;\ncommit$/s)
  })

  it('tell of what a handler has committed by itself after how many of them, and why the last has failed', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    await inbox.release([(await hold(inbox, item)).claim], NO_REFUND)
    const { claim: claimed } = await hold(inbox, item, ALONE)
    await lend(claimed)
      .tx.query('/* hidden */ commit')
      .catch(() => {})
    await inbox.release([claimed], LATER)
    const met = await claim(inbox, item, ALONE)
    expect(met).toMatchObject({ verdict: 'parked', attempt: 2, since: expect.any(Number), cause: LATER.cause })
    expect(met).toMatchObject({ reason: expect.stringContaining('transaction-torn') })
    expect(await inbox.admin?.peek(SCOPE, [item.key])).toMatchObject([{ state: 'parked', attempt: 2 }])
  })

  it('are read from rows since the oldest that was there at the claim before, or since a minute', async () => {
    const since: number[] = []
    const pool = withQueryHook(place.newPool(), async (text) => {
      const [, seconds] = /o\.at >= to_timestamp\(([\d.]+)\)/.exec(text) ?? []
      if (text.includes('savepoint') && seconds !== undefined) since.push(Number(seconds))
    })
    const inbox = await place.newInbox({ pool })
    const done = async (): Promise<void> => void (await inbox.mark([(await hold(inbox, newItem())).claim]))
    const now = async (minutes: number): Promise<number> => {
      const { rows } = await place.pool.query(`select extract(epoch from clock_timestamp())::float8 as now`)
      return ((rows as { now: number }[])[0]?.now ?? 0) - minutes * 60
    }
    await done()
    await done()
    expect(since).toEqual([0, expect.any(Number)])
    expect(since[1]).toBeLessThanOrEqual(await now(1))
    expect(since[1]).toBeGreaterThan(await now(2))
    // A process that has died long ago has left its claim.
    await inbox.release([(await hold(inbox, newItem())).claim], NO_REFUND)
    await place.pool.query(`update ${place.schema}.claim set at = at - interval '10 minutes', phase = 'e'`)
    const second = await place.newInbox({ pool })
    since.length = 0
    for (let claims = 0; claims < 2; claims++) await second.mark([(await hold(second, newItem())).claim])
    expect(since[0]).toBe(0)
    expect(since[1]).toBeLessThan(await now(9))
    expect(since[1]).toBeGreaterThan(await now(12))
  })

  it('are read by a message of their own, and only of keys that may have some', async () => {
    const sent: string[] = []
    const inbox = await place.newInbox({ pool: withQueryHook(place.newPool(), async (text) => void sent.push(text)) })
    // The first claim does not know the isolation level, and reads attempts in its message.
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const reads = (): number => sent.filter((text) => text.startsWith('with asked')).length
    const one = newItem()
    sent.length = 0
    await inbox.release([(await hold(inbox, one)).claim], NO_REFUND)
    const answers = await claimAll(inbox, [newItem(), newItem()])
    await inbox.mark(answers.map((answer) => grantedBy(answer).claim))
    expect(sent.filter((text) => text.includes('with asked'))).toEqual([])
    const again = await hold(inbox, one, ALONE)
    expect(again.attempt).toBe(2)
    expect(reads()).toBe(1)
    await inbox.release([again.claim], NO_REFUND)
    // In company it is left out, by the same read and that of whoever claims it beside the others.
    const [tried, fresh] = await claimAll(inbox, [one, newItem()])
    expect(tried).toMatchObject({ verdict: 'again-alone', attempts: 2 })
    expect(fresh).toMatchObject({ verdict: 'claimed', attempt: 1 })
    await inbox.mark([grantedBy(fresh).claim])
  })

  it('leave nothing locked or counted when they cannot be read', async () => {
    let isCutOff = false
    const pool = withQueryHook(place.newPool(), async (text) => {
      if (isCutOff && text.startsWith('with asked')) throw new Error('cut off')
    })
    const inbox = await place.newInbox({ pool })
    const item = newItem()
    await inbox.release([(await hold(inbox, item)).claim], NO_REFUND)
    isCutOff = true
    await expect(claim(inbox, item, ALONE)).rejects.toMatchObject({ message: expect.stringContaining('cut off') })
    isCutOff = false
    const other = await place.newInbox()
    const held = await hold(other, item, ALONE)
    expect(held.attempt).toBe(2)
    await other.mark([held.claim])
  })

  it('stay uncounted, and nothing stays locked, when they cannot be written', async () => {
    const inbox = await place.newInbox({ lockTimeoutMs: 100, queryTimeoutMs: 300 })
    const item = newItem()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const blocker = await place.pool.connect()
    await blocker.query(`begin; lock table ${place.schema}.claim in access exclusive mode`)
    expect(await claim(inbox, item)).toEqual({ verdict: 'busy', leaseLeftMs: 100 })
    await blocker.query('rollback')
    blocker.release()
    const granted = await hold(inbox, item, ALONE)
    expect(await inbox.mark([granted.claim])).toEqual(['marked'])
  })
})
