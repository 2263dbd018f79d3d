import type { PGlite } from '@electric-sql/pglite'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { pgliteInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import type { InboxHarness } from '../../testing/contract/store/harness.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { ALONE, NO_REFUND, bytesOf, codeOf, lend, evadePostgres } from '../../test/pg/support.ts'
import { newPglite } from './pglite-support.ts'

const describePglite = backends.has('pglite') ? describe : describe.skip

describePglite('pgliteInbox', () => {
  let db: PGlite

  beforeAllOpen(async (own) => (db = own(await newPglite())))

  const createHarness = async (): Promise<InboxHarness<PgTransaction>> => {
    const schema = uniqueName('inbox')
    const opened = async (): Promise<Store<PgTransaction>> => {
      const store = pgliteInbox({ pglite: db, schema })
      await store.open()
      return store
    }
    const store = await opened()
    // Opened before a law holds a claim: its only connection would not come free for it.
    const second = await opened()
    await db.query(`create table ${schema}.effect (name text not null)`)
    return {
      store,
      secondStore: async () => second,
      write: (tx, effect) => tx.query(`insert into ${schema}.effect (name) values ($1)`, [effect]),
      stall: (tx) => tx.query('select pg_sleep(0.5)'),
      query: (tx, text) => tx.query(text),
      fail: (tx) => tx.query('select 1 / 0'),
      evade: evadePostgres,
      async committed(effect) {
        const sql = `select count(*)::int as n from ${schema}.effect where name = $1`
        return (await db.query<{ n: number }>(sql, [effect])).rows[0]?.n ?? 0
      },
      async spoil(key) {
        await db.exec(`alter table ${schema}.inbox drop constraint if exists inbox_outcome_check;
          update ${schema}.inbox set outcome = 'Z' where key = '\\x${bytesOf(key)}'`)
      },
      close: async () => void (await db.exec(`drop schema ${schema} cascade`)),
    }
  }

  describeStoreContract(
    'pgliteInbox',
    {
      strategy: 'inbox',
      createHarness,
      lacks: {
        retention: 'a purge ends records',
        'parallel-transactions': 'PGlite has one connection',
      },
    },
    { describe, it },
  )

  it('keeps what was marked, and what was tried, when it is opened again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'consume-once-pglite-'))
    const [done, tried] = [newItem(), newItem()]
    try {
      for (const round of ['first', 'second']) {
        const kept = await newPglite(folder)
        const inbox = pgliteInbox({ pglite: kept })
        await inbox.open()
        const answer = await claim(inbox, done)
        expect(answer.verdict).toBe(round === 'first' ? 'claimed' : 'done')
        if ('claim' in answer) await inbox.mark([answer.claim])
        const granted = await hold(inbox, tried, ALONE)
        expect(granted.attempt).toBe(round === 'first' ? 1 : 2)
        await inbox.release([granted.claim], NO_REFUND)
        await kept.close()
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('keeps what others ask of the database out of the transaction', async () => {
    const { store, close } = await createHarness()
    const { claim: claimed } = await hold(store, newItem())
    const other = db.query('select current_setting($1, true) as open', ['consume_once.open'])
    await lend(claimed).tx.query('select 1')
    await store.release([claimed], NO_REFUND)
    expect((await other).rows).toEqual([{ open: '' }])
    await close()
  })

  it('answers handlers as pg does', async () => {
    const { store, close } = await createHarness()
    const { claim: claimed } = await hold(store, newItem())
    const { tx } = lend(claimed)
    await tx.query('create temporary table t (n int) on commit drop')
    await tx.query('insert into t values (0)')
    expect(await tx.query('insert into t values (1), (2)')).toEqual({ rows: [], rowCount: 2 })
    expect(await tx.query({ text: 'update t set n = 9 where n > $1', values: [5] })).toEqual({ rows: [], rowCount: 0 })
    expect(await tx.query('select n from t where n > $1 order by n', [0])).toEqual({
      rows: [{ n: 1 }, { n: 2 }],
      rowCount: 2,
    })
    await expect(tx.query('rollback')).rejects.toThrow('Use savepoints')
    expect(await store.mark([claimed])).toEqual(['marked'])
    await close()
  })

  it('finds out at the mark that a handler ended the transaction', async () => {
    const { store, close } = await createHarness()
    const { item, claim: claimed } = await holdNew(store)
    expect(await codeOf(lend(claimed).tx.query('/* hidden */ rollback'))).toBe('TRANSACTION_OVER')
    expect(await codeOf(store.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await store.mark([claimed])).toEqual(['refused-busy'])
    const again = await hold(store, item, ALONE)
    expect(again.attempt).toBe(2)
    await store.release([again.claim], NO_REFUND)
    await close()
  })

  it('reports an error that was deferred to the COMMIT as a failure of the handler', async () => {
    const harness = await createHarness()
    const { store, close } = harness
    const { claim: claimed } = await hold(store, newItem())
    const { tx } = lend(claimed)
    await tx.query('create temporary table once (n int unique deferrable initially deferred) on commit drop')
    await tx.query('insert into once values (1), (1)')
    await harness.write(tx, 'twice')
    expect(await codeOf(store.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await harness.committed('twice')).toBe(0)
    await close()
  })

  it('rejects when it is closed', async () => {
    const closed = await newPglite()
    const inbox = pgliteInbox({ pglite: closed })
    await inbox.open()
    await closed.close()
    expect(await codeOf(claim(inbox, newItem()))).toMatch(/^STORE_/)
    expect(await codeOf(claim(inbox, newItem()))).toMatch(/^STORE_/)
  })
})
