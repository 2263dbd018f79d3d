import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { expect, it } from '@jest/globals'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { ALONE, NO_REFUND, codeOf, describePostgres, lend, newPlace, type PgPlace } from './support.ts'

describePostgres('ctx.tx of postgresInbox', () => {
  let place: PgPlace
  openedForEach(
    lentPlaces(() => newPlace()),
    (made) => (place = made),
  )

  it('takes text with values, and a config, and types its rows', async () => {
    const inbox = await place.newInbox()
    const { claim: claimed } = await hold(inbox, newItem())
    const { query } = lend(claimed).tx
    const { rows, rowCount } = await query<{ n: number }>('select $1::int + 1 as n', [41])
    expect([rows, rowCount]).toEqual([[{ n: 42 }], 1])
    const config = { text: 'select $1::int as n', values: [7], rowMode: 'array' as const }
    expect((await query(config)).rows).toEqual([[7]])
    expect((await query(`insert into ${place.schema}.effect values ('a'), ('b')`)).rowCount).toBe(2)
    expect(await inbox.mark([claimed])).toEqual(['marked'])
  })

  it('refuses statements that would end the transaction, but not savepoints', async () => {
    const inbox = await place.newInbox()
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    for (const text of [
      'commit',
      ' COMMIT;',
      'rollback',
      'abort',
      'end',
      'begin',
      'Start  Transaction',
      'rollback work',
    ]) {
      await expect(tx.query(text)).rejects.toThrow(TypeError)
      await expect(tx.query({ text })).rejects.toThrow('Use savepoints')
    }
    await tx.query('savepoint s')
    await expect(tx.query('select 1 / 0')).rejects.toThrow('division by zero')
    await tx.query('rollback to savepoint s')
    await tx.query('rollback work to s')
    await place.write(tx, 'kept')
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect(await place.committed('kept')).toBe(1)
  })

  it.each(['commits', 'fails', 'commits by itself'] as const)(
    'leaves a connection that writes where a handler has made its session read only and %s',
    async (ending) => {
      // One connection for all transactions.
      const pool = place.newPool({ max: 2 })
      const inbox = await place.newInbox({ pool })
      const { claim: claimed } = await hold(inbox, newItem())
      const { tx } = lend(claimed)
      await tx.query('set session characteristics as transaction read only')
      if (ending === 'commits by itself') await codeOf(tx.query('/* hidden */ commit'))
      const ended = ending === 'commits' ? await inbox.mark([claimed]) : await inbox.release([claimed], NO_REFUND)
      expect(ended).toEqual([ending === 'commits' ? 'marked' : 'released'])
      const clients = await Promise.all([pool.connect(), pool.connect()])
      for (const client of clients) {
        const { rows } = await client.query('show default_transaction_read_only')
        expect(rows).toEqual([{ default_transaction_read_only: 'off' }])
        client.release()
      }
      const next = await hold(inbox, newItem())
      expect(await inbox.setAside([next.claim], 'parked', { reason: 'test' })).toEqual(['parked'])
    },
  )

  it.each(['set local role pg_monitor', 'set role pg_monitor'])('marks under its own role after %s', async (text) => {
    const pool = place.newPool({ max: 2 })
    const inbox = await place.newInbox({ pool })
    for (const effect of ['first', 'second']) {
      const { claim: claimed } = await hold(inbox, newItem())
      const { tx } = lend(claimed)
      await place.write(tx, effect)
      await tx.query(text)
      expect((await tx.query('select current_user::text as name')).rows).toEqual([{ name: 'pg_monitor' }])
      expect(await inbox.mark([claimed])).toEqual(['marked'])
      expect(await place.committed(effect)).toBe(1)
    }
  })

  it('refuses objects that outlive their query', async () => {
    const inbox = await place.newInbox()
    const { claim: claimed } = await hold(inbox, newItem())
    const cursor = { text: 'select 1', submit: () => {} }
    await expect(lend(claimed).tx.query(cursor)).rejects.toThrow('a cursor or a stream')
    await inbox.release([claimed], NO_REFUND)
  })

  it.each([
    ['COMMIT', 'parked'],
    ['ROLLBACK', 'claimed'],
  ])(
    'finds out at once that a handler ended the transaction by a hidden %s, and marks nothing',
    async (text, verdict) => {
      const inbox = await place.newInbox()
      const item = newItem()
      const { claim: claimed } = await hold(inbox, item)
      const { tx } = lend(claimed)
      expect(await codeOf(tx.query(`/* hidden */ ${text}`))).toBe('TRANSACTION_OVER')
      expect(await codeOf(place.write(tx, 'outside'))).toBe('TRANSACTION_OVER')
      await expect(inbox.mark([claimed])).rejects.toThrow('ended the transaction itself')
      expect(await codeOf(inbox.mark([claimed]))).toBe('no error')
      expect(await inbox.release([claimed], NO_REFUND)).toEqual(['released'])
      const answer = await claim(inbox, item, ALONE)
      expect(answer.verdict).toBe(verdict)
      if ('claim' in answer) await inbox.release([answer.claim], NO_REFUND)
    },
  )

  it('finds out that a handler ended it and began another', async () => {
    const inbox = await place.newInbox()
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    expect(await codeOf(tx.query('-- hidden\nrollback and chain'))).toBe('TRANSACTION_OVER')
    expect(await codeOf(place.write(tx, 'outside'))).toBe('TRANSACTION_OVER')
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await place.committed('outside')).toBe(0)
  })

  it('tells an error that was deferred to the COMMIT as a failure of the handler', async () => {
    const pool = place.newPool()
    const inbox = await place.newInbox({ pool })
    await place.alter(
      `alter table ${place.schema}.effect add constraint once unique (name) deferrable initially deferred`,
    )
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const lent = lend(claimed)
    await place.write(lent.tx, 'twice')
    await place.write(lent.tx, 'twice')
    expect(lent.revoke()).toBe(0)
    await expect(inbox.mark([claimed])).rejects.toMatchObject({
      code: 'COMMIT_REFUSED',
      cause: expect.objectContaining({ code: '23505' }),
    })
    expect(await inbox.mark([claimed])).toEqual(['refused-busy'])
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['released'])
    expect(await place.committed('twice')).toBe(0)
    expect(pool.idleCount).toBe(pool.totalCount)
    const again = await hold(inbox, item, ALONE)
    expect(again.attempt).toBe(2)
    await inbox.release([again.claim], NO_REFUND)
  })

  it('closes the connection of a handler that ignores its signal, whose late query commits nothing', async () => {
    const pool = place.newPool()
    const inbox = await place.newInbox({ pool })
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    const late = tx.query(`insert into ${place.schema}.effect select 'late' from pg_sleep(0.2)`)
    const before = pool.totalCount
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['released'])
    expect(pool.totalCount).toBe(before - 1)
    await expect(late).rejects.toMatchObject({ code: 'FLOATING_QUERY', cause: { message: 'Connection terminated' } })
    await expect(place.write(tx, 'late')).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
    await place.pool.query('select pg_sleep(0.3)')
    expect(await place.committed('late')).toBe(0)
  })

  it('limits how long the claim waits for rows, not the handler', async () => {
    const pool = place.newPool({ lock_timeout: 12_345 })
    const inbox = await place.newInbox({ pool, lockTimeoutMs: 77, statementTimeoutMs: 4_000 })
    const { claim: claimed } = await hold(inbox, newItem())
    const { rows } = await lend(claimed).tx.query(
      `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as idle`,
    )
    expect(rows).toEqual([{ lock: '12345ms', statement: '4s', idle: '5min' }])
    await inbox.release([claimed], NO_REFUND)
  })

  it.each(['off', 'local', 'remote_apply'])('flushes a mark where the handler or the role says %s', async (setting) => {
    const inbox = await place.newInbox()
    await place.alter(`create function ${place.schema}.note() returns trigger language plpgsql as
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
    expect(rows).toEqual([{ setting: setting === 'remote_apply' ? setting : 'on' }])
  })
})
