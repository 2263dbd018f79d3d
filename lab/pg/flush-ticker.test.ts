import { beforeAllOpen, openedForEach } from '../../test/kit/opened.ts'
import { untilResolved } from '../../test/kit/eventually.ts'
import { describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { ClaimItem } from '../../src/internal.ts'
import { claim, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { Signal } from '../../test/kit/signal.ts'
import {
  ALONE,
  NO_REFUND,
  codeOf,
  describePostgres,
  withQueryHook,
  lend,
  newPlace,
  pgHarness,
  type PgPlace,
} from '../../test/pg/support.ts'

const TICKER = { durability: 'flush-ticker' } as const

describePostgres('postgresInbox with a flush ticker', () => {
  describeStoreContract(
    'postgresInbox with a flush ticker',
    {
      strategy: 'inbox',
      createHarness: () => pgHarness(TICKER),
      lacks: {
        retention: 'a purge ends records',
      },
    },
    { describe, it },
  )
})

describePostgres('the flush ticker', () => {
  let place: PgPlace
  openedForEach(newPlace, (made) => (place = made))

  it('flushes once for all marks that wait, and holds no connection while nothing is claimed', async () => {
    const pool = place.newPool({ max: 12 })
    const sent: string[] = []
    const inbox = await place.newInbox({ ...TICKER, pool: withQueryHook(pool, async (text) => void sent.push(text)) })
    sent.length = 0
    const claims = await Promise.all(Array.from({ length: 10 }, async () => (await hold(inbox, newItem())).claim))
    expect(pool.totalCount - pool.idleCount).toBe(11)
    await Promise.all(claims.map((claimed) => inbox.mark([claimed])))
    expect(sent.filter((text) => text.endsWith('\ncommit'))).toHaveLength(10)
    expect(sent.filter(isFlush).length).toBeLessThan(10)
    expect(pool.idleCount).toBe(pool.totalCount)
    await inbox.release([(await hold(inbox, newItem())).claim], NO_REFUND)
    expect(pool.idleCount).toBe(pool.totalCount)
  })

  it.each([
    ['on', 'off'],
    ['remote_apply', 'remote_apply'],
  ])('commits without a flush of its own where the handler says %s', async (setting, expected) => {
    const inbox = await place.newInbox(TICKER)
    await place.pool.query(`create function ${place.schema}.note() returns trigger language plpgsql as
      $$ begin insert into ${place.schema}.noted values (current_setting('synchronous_commit')); return null; end $$;
      create table ${place.schema}.noted (setting text);
      create constraint trigger note after insert on ${place.schema}.effect deferrable initially deferred
      for each row execute function ${place.schema}.note()`)
    const { claim: claimed } = await hold(inbox, newItem())
    const lent = lend(claimed)
    await lent.tx.query(`set local synchronous_commit = ${setting}`)
    await place.write(lent.tx, 'effect')
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    const { rows } = await place.pool.query(`select setting from ${place.schema}.noted`)
    expect(rows).toEqual([{ setting: expected }])
  })

  it('is recorded once and for good in its scope, before the first mark', async () => {
    const flags = async (): Promise<unknown[]> =>
      (await place.pool.query(`select flush_ticker from ${place.schema}.scope`)).rows
    const plain = await place.newInbox()
    await plain.mark([(await hold(plain, newItem())).claim])
    expect(await flags()).toEqual([{ flush_ticker: false }])
    const inbox = await place.newInbox(TICKER)
    const { claim: claimed } = await hold(inbox, newItem())
    expect(await flags()).toEqual([{ flush_ticker: true }])
    await inbox.mark([claimed])
  })

  it('leaves a connection to count attempts also on a pool of a store that was made without it', async () => {
    const pool = place.newPool({ max: 3 })
    const plain = await place.newInbox({ pool, queryTimeoutMs: 2_000 })
    const inbox = await place.newInbox({ ...TICKER, pool, queryTimeoutMs: 2_000 })
    // Each knows its scope.
    for (const store of [plain, inbox]) await store.mark([(await hold(store, newItem())).claim])
    const marked = [inbox, plain].map(async (store) => store.mark([(await hold(store, newItem())).claim]))
    expect(await Promise.all(marked)).toEqual([['marked'], ['marked']])
  })

  it('needs no second connection to answer duplicates, also those of a store without a flush ticker', async () => {
    const done = newItem()
    const ticking = await place.newInbox(TICKER)
    await ticking.mark([(await hold(ticking, done)).claim])
    const pool = place.newPool({ max: 2 })
    const [busy, inbox] = [await place.newInbox({ pool }), await place.newInbox({ pool, queryTimeoutMs: 2_000 })]
    expect(await claim(inbox, done)).toMatchObject({ verdict: 'done' })
    const { claim: open } = await hold(busy, newItem())
    expect(await claim(inbox, done)).toMatchObject({ verdict: 'done' })
    await busy.release([open], NO_REFUND)
  })

  it('goes on after its connection was lost, and takes nothing for flushed that may not be', async () => {
    const inbox = await place.newInbox(TICKER)
    const { claim: claimed } = await holdNew(inbox)
    const { rows } = await place.pool.query(
      `select pid from pg_stat_activity where query like '%pg_stat_get_activity(pg_backend_pid())%' and state = 'idle'
       and datname = current_database() order by backend_start desc limit 1`,
    )
    await place.terminate((rows as { pid: number }[])[0]?.pid ?? 0)
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
    expect(await inbox.mark([(await hold(inbox, newItem())).claim])).toEqual(['marked'])
  })
})

describePostgres('a crash of the server, for a scope with a flush ticker', () => {
  let server: Awaited<ReturnType<typeof startPrivatePostgres>>
  let place: PgPlace
  beforeAllOpen(async (own) => {
    // Nothing but a flush that is asked for comes in time.
    server = own(await startPrivatePostgres({ settings: { wal_writer_delay: '10s', autovacuum: 'off' } }))
  })
  openedForEach(
    () => newPlace(server.url),
    (made) => (place = made),
  )

  /** Kills one backend, after which Postgres ends all of them and recovers from disk. */
  const crash = async (): Promise<void> => {
    const victim = new Pool({ connectionString: server.url, max: 1 })
    victim.on('error', () => {})
    const generation = async (): Promise<{ pid: number; checkpointer: number } | undefined> => {
      const sql = `select pg_backend_pid() as pid, pid as checkpointer from pg_stat_activity where backend_type = 'checkpointer'`
      return ((await victim.query(sql)).rows as { pid: number; checkpointer: number }[])[0]
    }
    const before = await generation()
    process.kill(before?.pid ?? Number.NaN, 'SIGKILL')
    const deadline = Date.now() + 20_000
    for (;;) {
      const now = await generation().catch(() => undefined)
      if (now !== undefined && now.checkpointer !== before?.checkpointer) break
      if (Date.now() > deadline) throw new Error('expected the server to be back by now')
    }
    await victim.end()
  }

  /** As a process with a ticker leaves it that has committed and not flushed. */
  const commitLate = async (item: ClaimItem): Promise<void> => {
    const pool = place.newPool({ options: '-c synchronous_commit=off' })
    pool.on('error', () => {})
    const key = Buffer.from(item.key, 'base64url')
    await pool.query(`insert into ${place.schema}.inbox (scope, key) values (1, $1)`, [key])
  }

  it.each([
    ['stays done where its scope has said that marks are flushed late', true, 'done'],
    ['is undone where it has not: so the test can tell', false, 'claimed'],
  ])('what another process was told to be done %s', async (_, isTold, verdict) => {
    const inbox = await place.newInbox(TICKER)
    const plain = await place.newInbox()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    // The first claim of a store writes durably since when its scope is known.
    await plain.release([(await hold(plain, newItem())).claim], NO_REFUND)
    if (!isTold) await place.pool.query(`update ${place.schema}.scope set flush_ticker = false`)
    const item = newItem({ digest: '' })
    await commitLate(item)
    expect(await claim(plain, item)).toMatchObject({ verdict: 'done' })
    await crash()
    const again = await untilResolved(() => claim(plain, item, ALONE))
    expect(again.verdict).toBe(verdict)
    if ('claim' in again) await plain.release([again.claim], NO_REFUND)
  })

  it('between the COMMIT and the flush is found out, although the server flushes again', async () => {
    const pool = place.newPool()
    pool.on('error', () => {})
    let isArmed = false
    const inbox = await place.newInbox({
      ...TICKER,
      pool: withQueryHook(pool, async (text) => {
        if (!isFlush(text) || !isArmed) return
        isArmed = false
        await crash()
      }),
    })
    const { item, claim: claimed } = await holdNew(inbox)
    await place.write(lend(claimed).tx, item.key)
    isArmed = true
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    expect(await untilResolved(() => inbox.mark([claimed]))).toEqual(['refused-busy'])
    expect(await place.committed(item.key)).toBe(0)
    const again = await hold(inbox, item, ALONE)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
  })

  it('loses nothing that was marked or answered as done [T5]', async () => {
    const inbox = await place.newInbox({ ...TICKER, pool: patient(place, 8) })
    const plain = await place.newInbox({ pool: patient(place, 4) })
    const [settled, unsure] = [new Set<string>(), new Set<string>()]
    const settling = new Signal()
    const over = new AbortController()
    const work = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const item = newItem()
        const answer = await claim(inbox, item).catch(() => undefined)
        if (answer === undefined || !('claim' in answer)) {
          unsure.add(item.key)
          continue
        }
        const told = repeat(plain, item, settled)
        try {
          await place.write(lend(answer.claim).tx, item.key)
          const verdicts = await inbox.mark([answer.claim])
          if (verdicts[0] === 'marked') settled.add(item.key)
        } catch {
          unsure.add(item.key)
          await inbox.release([answer.claim], NO_REFUND).catch(() => {})
        }
        await told
        settling.notify()
      }
    }
    const working = Promise.all([work(), work(), work(), work()])
    await settling.until(() => settled.size >= 40)
    await crash()
    const before = settled.size
    await settling.until(() => settled.size >= before + 40)
    over.abort()
    await working
    expect(unsure.size).toBeGreaterThan(0)
    const effects = await place.pool.query(`select name from ${place.schema}.effect`)
    const kept = new Set((effects.rows as { name: string }[]).map(({ name }) => name))
    expect([...settled].filter((key) => !kept.has(key))).toEqual([])
    const states = (await plain.admin?.peek(SCOPE, [...settled])) ?? []
    expect(states.filter(({ state }) => state !== 'done')).toEqual([])
  })
})

describePostgres('a role that may not flush', () => {
  it('is refused', async () => {
    const server = await startPrivatePostgres()
    const admin = new Pool({ connectionString: server.url, max: 1 })
    // With another parameter from Postgres 17 on.
    await admin.query(`do $$ declare f regprocedure; begin
        for f in select oid from pg_proc where proname = 'pg_logical_emit_message' loop
          execute format('revoke execute on function %s from public', f);
        end loop;
      end $$;
      create role worker login; grant create on database postgres to worker`)
    const pool = new Pool({ connectionString: server.url.replace('postgres@', 'worker@'), max: 3 })
    // Their connections may outlive them until the server stops.
    for (const one of [admin, pool]) one.on('error', () => {})
    const opening = postgresInbox({ ...TICKER, pool }).open()
    await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('execute') })
    await pool.end()
    await admin.end()
    await server.stop()
  }, 60_000)
})

describe('options of the flush ticker', () => {
  it('ask for one connection more', () => {
    const pool = new Pool({ max: 2 })
    expect(() => postgresInbox({ ...TICKER, pool })).toThrow('max >= 3')
    expect(() => postgresInbox({ pool, durability: 'never' as never })).toThrow('expected "commit" or "flush-ticker"')
  })
})

function isFlush(text: string): boolean {
  return text.includes('pg_logical_emit_message(true')
}

function patient(place: PgPlace, max: number): Pool {
  const pool = place.newPool({ max })
  pool.on('error', () => {})
  return pool
}

async function repeat(store: Store<PgTransaction>, item: ClaimItem, settled: Set<string>): Promise<void> {
  const answer = await claim(store, item, ALONE).catch(() => undefined)
  if (answer?.verdict === 'done') settled.add(item.key)
  if (answer !== undefined && 'claim' in answer) await store.release([answer.claim], NO_REFUND).catch(() => {})
}
