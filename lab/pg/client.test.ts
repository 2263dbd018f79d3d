import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { pgClient, pgliteInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { TransactionClaim, LentTransaction } from '../../src/internal.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { keysAsStreams } from '../../testing/contract/store/keys-as-streams.ts'
import { NO_REFUND, codeOf, describePostgres, lend, newPlace, type PgPlace } from '../../test/pg/support.ts'
import { newPglite } from './pglite-support.ts'

describePostgres('pgClient', () => {
  let place: PgPlace
  let inbox: Store<PgTransaction>
  let claimed: TransactionClaim<PgTransaction>
  let lent: LentTransaction<PgTransaction>
  beforeEach(async () => {
    place = await newPlace()
    inbox = await place.newInbox()
    ;({ claim: claimed } = await hold(inbox, newItem()))
    lent = lend(claimed)
  })
  afterEach(async () => {
    await inbox.release([claimed], NO_REFUND)
    await place.close()
  })

  const write = (name: string): Promise<unknown> =>
    pgClient(lent.tx).query(`insert into ${place.schema}.effect values ($1)`, [name])

  it('takes text, configs, arrays and callbacks', async () => {
    const client = pgClient(lent.tx)
    const expected = {
      command: 'SELECT',
      rowCount: 1,
      rows: [{ n: 7 }],
      fields: [expect.objectContaining({ name: 'n' })],
    }
    const text = 'select $1::int as n'
    expect(await client.query(text, [7])).toMatchObject(expected)
    expect(await client.query({ text, values: [7] })).toMatchObject(expected)
    expect(await client.query({ text }, [7])).toMatchObject(expected)
    expect((await client.query({ text, values: [7], rowMode: 'array' })).rows).toEqual([[7]])
    const types = { getTypeParser: () => (value: unknown) => `n ${String(value)}` }
    expect((await client.query({ text, values: [7], types })).rows).toEqual([{ n: 'n 7' }])
    expect(await called((callback) => client.query(text, [7], callback))).toMatchObject([null, expected])
    expect(await called((callback) => client.query({ text, values: [7] }, callback))).toMatchObject([null, expected])
    expect(await called((callback) => client.query('select 7 as n', callback))).toMatchObject([null, expected])
    expect(await called((callback) => client.query('select 1 / 0', callback))).toMatchObject([{ code: '22012' }])
  })

  it('is a pool of itself, which nobody can close', async () => {
    const client = pgClient(lent.tx)
    const got = await client.connect()
    got.release(new Error('broken'))
    await client.end()
    expect((await got.query('select 1 as n')).rows).toEqual([{ n: 1 }])
  })

  it('refuses a cursor where it is asked, as whoever gives one awaits no promise', () => {
    const cursor = { text: 'select 1', submit: () => {} }
    expect(() => pgClient(lent.tx).query(cursor)).toThrow('it outlives its call')
  })

  it('refuses what is no ctx.tx, and one of PGlite', async () => {
    expect(() => pgClient({ query: lent.tx.query })).toThrow('expected ctx.tx of postgresInbox')
    const db = await newPglite()
    const embedded = pgliteInbox({ pglite: db })
    await embedded.open()
    const { claim } = await hold(embedded, newItem())
    expect(() => pgClient(lend(claim).tx)).toThrow('expected ctx.tx of postgresInbox')
    await embedded.release([claim], NO_REFUND)
    await db.close()
  })

  it('is made of ctx.tx of postgresOffsets too', async () => {
    const offsets = keysAsStreams(await place.newOffsets())
    const { claim } = await hold(offsets, newItem())
    const client = pgClient(lend(claim).tx)
    await client.query('begin')
    await client.query(`insert into ${place.schema}.effect values ('with its offset')`)
    await client.query('commit')
    expect(await offsets.mark([claim])).toEqual(['marked'])
    expect(await place.committed('with its offset')).toBe(1)
  })

  describe.each([
    ['begin', 'commit', 'rollback'],
    ['BEGIN;', 'COMMIT;', 'ROLLBACK;'],
    ['START  TRANSACTION', 'end', 'abort'],
    ['begin work', 'commit work', 'rollback work'],
    ['begin transaction', 'end transaction', 'rollback transaction'],
    ['start transaction isolation level read committed', 'commit', 'rollback'],
    ['BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE;', 'COMMIT;', 'ROLLBACK'],
    ['begin isolation level read committed, read write', 'commit', 'rollback'],
  ])('asked to %s, %s and %s', (begin, commit, rollback) => {
    it('makes savepoints of them', async () => {
      const client = pgClient(lent.tx)
      await client.query(begin)
      await write('committed')
      await client.query(commit)
      await client.query(begin)
      await write('undone')
      await expect(client.query('select 1 / 0')).rejects.toThrow('division by zero')
      await client.query(rollback)
      await write('after')
      expect(lent.revoke()).toBe(0)
      expect(await inbox.mark([claimed])).toEqual(['marked'])
      expect(await Promise.all(['committed', 'undone', 'after'].map(place.committed))).toEqual([1, 0, 1])
    })
  })

  it.each(['commit', 'rollback', 'end', 'abort'])('refuses a %s that ends no transaction of the ORM', async (text) => {
    await expect(pgClient(lent.tx).query(text)).rejects.toThrow("the transaction is the store's to end")
  })

  it.each(['begin isolation level serializable', 'begin read only', 'start transaction deferrable', 'begin; select 1'])(
    'refuses to %s',
    async (text) => {
      await expect(pgClient(lent.tx).query(text)).rejects.toThrow('READ WRITE and at the level')
      await write('goes on')
      expect(lent.revoke()).toBe(0)
    },
  )

  it('knows one transaction at a time, whatever client it is asked by', async () => {
    await pgClient(lent.tx).query('begin')
    await expect(pgClient(lent.tx).query('begin')).rejects.toThrow('is open already')
    await pgClient(lent.tx).query('commit')
    await pgClient(lent.tx).query('begin')
    await pgClient(lent.tx).query('rollback')
    expect(lent.revoke()).toBe(0)
  })

  it('rejects the commit of a transaction that has failed, which Postgres would answer with a ROLLBACK', async () => {
    const client = pgClient(lent.tx)
    await client.query('begin')
    await write('undone')
    await expect(client.query('select 1 / 0')).rejects.toThrow('division by zero')
    await expect(client.query('commit')).rejects.toMatchObject({ code: '25P02' })
    await client.query('rollback')
    await write('kept')
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect(await Promise.all(['undone', 'kept'].map(place.committed))).toEqual([0, 1])
  })

  it('leaves nothing open where the savepoint is refused', async () => {
    const client = pgClient(lent.tx)
    await expect(client.query('select 1 / 0')).rejects.toThrow('division by zero')
    await expect(client.query('begin')).rejects.toMatchObject({ code: '25P02' })
    expect(lent.revoke()).toBe(0)
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
  })

  it('counts an open transaction as a query that was not awaited [T69]', async () => {
    await pgClient(lent.tx).query('begin')
    await write('half')
    expect(lent.revoke()).toBe(1)
    await expect(write('other half')).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
    expect(await codeOf(inbox.mark([claimed]))).toBe('FLOATING_QUERY')
    expect(await place.committed('half')).toBe(0)
  })

  it('counts what an ORM asks for once its handler has ended, also where it takes its client only then', async () => {
    const late = microtasks(100).then(() => write('late'))
    lent.revoke()
    const marked = codeOf(inbox.mark([claimed]))
    await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
    expect(await marked).toBe('FLOATING_QUERY')
  })
})

async function microtasks(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await Promise.resolve()
}

function called(ask: (callback: (...answer: unknown[]) => void) => void): Promise<unknown[]> {
  return new Promise((resolve) => ask((...answer) => resolve(answer)))
}
