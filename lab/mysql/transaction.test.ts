import { openedForEach } from '../../test/kit/opened.ts'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import { claim, claimAll, grantedBy, hold, newItem } from '../../testing/contract/store/claims.ts'
import {
  ALONE,
  codeOf,
  describeMariadb,
  lend,
  newMysqlPlace,
  NO_REFUND,
  type MysqlPlace,
} from '../../test/mysql/support.ts'

describeMariadb('ctx.tx of mysqlInbox', () => {
  let place: MysqlPlace
  let inbox: Store<MysqlTransaction>
  beforeEach(async () => {
    place = await newMysqlPlace()
    inbox = await place.newInbox()
  })
  afterEach(() => place.close())

  it('takes what connections of mysql2 take: text, options, placeholders, prepared statements', async () => {
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    await tx.query('insert into effect (name) values (?), (?)', ['one', "it's"])
    await tx.execute('insert into effect (name) values (?)', ['two'])
    await tx.query({ sql: 'insert into effect (name) values (?)', values: ['three'] })
    const [rows] = await tx.query<unknown[][]>({ sql: 'select name from effect order by name', rowsAsArray: true })
    expect(rows).toEqual([["it's"], ['one'], ['three'], ['two']])
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect(await place.committed('two')).toBe(1)
  })

  it('refuses what would end the transaction, also implicitly, and lives on', async () => {
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    for (const sql of [
      'commit',
      ' ROLLBACK',
      'begin',
      'start transaction',
      'set autocommit = 1',
      'create table other (a int)',
      'truncate effect',
      'lock tables effect write',
      'drop table effect',
    ]) {
      await expect(tx.query(sql)).rejects.toThrow(TypeError)
    }
    await tx.query('create temporary table own (a int)')
    await tx.query('savepoint here')
    await place.write(tx, 'undone')
    await tx.query('rollback to savepoint here')
    await place.write(tx, 'done')
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect([await place.committed('undone'), await place.committed('done')]).toEqual([0, 1])
  })

  it('asks for all rows, whatever limit a handler has set for its session', async () => {
    const pool = place.newPool({ connectionLimit: 2 })
    const small = await place.newInbox({ pool })
    const { claim: claimed } = await hold(small, newItem())
    await lend(claimed).tx.query('set session sql_select_limit = 1')
    expect(await small.mark([claimed])).toEqual(['marked'])
    await expect(place.newInbox({ pool })).resolves.toBeDefined()
    const claims = (await claimAll(small, [newItem(), newItem(), newItem()])).map((answer) => grantedBy(answer).claim)
    expect(await small.mark(claims)).toEqual(['marked', 'marked', 'marked'])
  })

  it('goes on after a failed statement only from a savepoint before it', async () => {
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    await tx.query('savepoint here')
    await expect(tx.query('select * from nothing')).rejects.toThrow(/doesn't exist/)
    expect(await codeOf(place.write(tx, 'between'))).toBe('COMMIT_REFUSED')
    await tx.query('rollback to here')
    await place.write(tx, 'after')
    expect(await inbox.mark([claimed])).toEqual(['marked'])
    expect([await place.committed('between'), await place.committed('after')]).toEqual([0, 1])
  })

  it('lets nothing through, and commits nothing, after a deadlock that has rolled the transaction back', async () => {
    await place.pool.query('create table account (id int primary key, n int not null) engine = InnoDB')
    await place.pool.query('insert into account values (1, 0), (2, 0)')
    const items = [newItem(), newItem()] as const
    const [left, right] = [await hold(inbox, items[0]), await hold(inbox, items[1])]
    const txs = [lend(left.claim).tx, lend(right.claim).tx] as const
    await add(txs[0], 1)
    await add(txs[1], 2)
    const crossed = await Promise.allSettled([add(txs[0], 2), add(txs[1], 1)])
    const lost = crossed.findIndex(({ status }) => status === 'rejected')
    expect(lost).toBeGreaterThanOrEqual(0)
    const [loser, winner] = lost === 0 ? [left, right] : [right, left]
    // Without a transaction this would commit by itself.
    expect(await codeOf(place.write(txs[lost] ?? txs[0], 'loose'))).toBe('COMMIT_REFUSED')
    expect(await codeOf(inbox.mark([loser.claim]))).toBe('COMMIT_REFUSED')
    expect(await inbox.mark([winner.claim])).toEqual(['marked'])
    expect(await place.committed('loose')).toBe(0)
    expect(await place.rows('select n from account order by id')).toEqual([{ n: 1 }, { n: 1 }])
    const again = await hold(inbox, items[lost] ?? items[0], ALONE)
    await inbox.release([again.claim], NO_REFUND)
  })

  it('sends nothing after a deadlock that was asked for before it', async () => {
    await place.pool.query('create table account (id int primary key, n int not null) engine = InnoDB')
    await place.pool.query('insert into account values (1, 0), (2, 0)')
    const claims = [(await hold(inbox, newItem())).claim, (await hold(inbox, newItem())).claim] as const
    const txs = [lend(claims[0]).tx, lend(claims[1]).tx] as const
    await add(txs[0], 1)
    await add(txs[1], 2)
    // Handlers that do not wait for one statement before they ask for the next.
    const asked = [add(txs[0], 2), place.write(txs[0], 'loose 0'), add(txs[1], 1), place.write(txs[1], 'loose 1')]
    const ends = (await Promise.allSettled(asked)).map(({ status }) => status)
    const lost = ends[0] === 'rejected' ? 0 : 1
    expect(ends.slice(2 * lost, 2 * lost + 2)).toEqual(['rejected', 'rejected'])
    expect(await place.committed(`loose ${lost}`)).toBe(0)
    expect(await codeOf(inbox.mark([claims[lost]]))).toBe('COMMIT_REFUSED')
    expect(await inbox.mark([claims[1 - lost] ?? claims[0]])).toEqual(['marked'])
    expect(await place.committed(`loose ${1 - lost}`)).toBe(1)
  })

  it('gives the attempt back of a handler that a deadlock has chosen to lose, and not that of one whose statement failed', async () => {
    await place.pool.query('create table account (id int primary key, n int not null) engine = InnoDB')
    await place.pool.query('insert into account values (1, 0), (2, 0)')
    const items = [newItem(), newItem()] as const
    const [left, right] = [await hold(inbox, items[0]), await hold(inbox, items[1])]
    const txs = [lend(left.claim).tx, lend(right.claim).tx] as const
    await add(txs[0], 1)
    await add(txs[1], 2)
    const crossed = await Promise.allSettled([add(txs[0], 2), add(txs[1], 1)])
    const [lost, won] = crossed[0]?.status === 'rejected' ? ([0, 1] as const) : ([1, 0] as const)
    const claims = [left.claim, right.claim] as const
    expect(await inbox.release([claims[lost]], NO_REFUND)).toEqual(['released'])
    await expect(txs[won].query('select * from nothing')).rejects.toThrow(/doesn't exist/)
    expect(await inbox.release([claims[won]], NO_REFUND)).toEqual(['released'])
    const again = [await hold(inbox, items[lost], ALONE), await hold(inbox, items[won], ALONE)] as const
    expect(again.map(({ attempt }) => attempt)).toEqual([1, 2])
    for (const { claim: claimed } of again) await inbox.release([claimed], NO_REFUND)
  })

  it('parks what a handler has committed in part, by DDL that it hid from the store', async () => {
    await place.pool.query('create procedure hidden() begin create table other (a int); end')
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const { tx } = lend(claimed)
    await place.write(tx, item.key)
    await tx.query('call hidden()')
    // What came now would commit by itself.
    expect(await codeOf(place.write(tx, 'loose'))).toBe('TRANSACTION_OVER')
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect([await place.committed(item.key), await place.committed('loose')]).toEqual([1, 0])
    const torn = { verdict: 'parked', reason: expect.stringMatching(/^transaction-torn/) }
    expect(await claim(await place.newInbox(), item)).toMatchObject(torn)
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['released'])
    expect(await claim(inbox, item, ALONE)).toMatchObject(torn)
  })

  it('writes down as parked what a handler has committed in part, also where it is to be given up', async () => {
    await place.pool.query('create procedure hidden() begin create table other (a int); end')
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    await lend(claimed).tx.query('call hidden()')
    expect(await inbox.setAside([claimed], 'given-up', { reason: 'attempts-spent' })).toEqual(['parked'])
    expect(await inbox.setAside([claimed], 'given-up', { reason: 'attempts-spent' })).toEqual(['parked'])
    expect(await claim(inbox, item, ALONE)).toMatchObject({ verdict: 'parked', reason: 'attempts-spent' })
  })

  it('parks what a handler has committed in part and gone on with in a transaction of its own', async () => {
    await place.pool.query('create procedure hidden() begin create table other (a int); start transaction; end')
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const { tx } = lend(claimed)
    await tx.query('call hidden()')
    await place.write(tx, 'second')
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await place.committed('second')).toBe(0)
    expect((await claim(inbox, item)).verdict).toBe('parked')
  })

  it('goes on with a connection whose session a handler has made read only', async () => {
    const pool = place.newPool({ connectionLimit: 2 })
    const own = await place.newInbox({ pool })
    for (let n = 0; n < 4; n++) {
      const { claim: claimed } = await hold(own, newItem())
      await lend(claimed).tx.query('set session transaction read only')
      expect(await own.mark([claimed])).toEqual(['marked'])
      const next = await hold(own, newItem())
      expect(await own.setAside([next.claim], 'parked', { reason: 'test' })).toEqual(['parked'])
    }
    // Nor does anybody else get one that refuses to write.
    const all = await Promise.all([pool.getConnection(), pool.getConnection()])
    for (const connection of all) {
      await connection.query("insert into effect (name) values ('by another')")
      connection.release()
    }
    expect(await place.committed('by another')).toBe(2)
  })

  it('commits nothing after a statement whose answer its handler did not wait for', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const { tx } = lend(claimed)
    await place.write(tx, 'before')
    const slow = "insert into effect (name) select 'slow' from (select sleep(0.5)) as s"
    await expect(tx.query({ sql: slow, timeout: 50 })).rejects.toThrow(/timeout/)
    expect(await codeOf(inbox.mark([claimed]))).toMatch(/^STORE_|^COMMIT_REFUSED$/)
    expect(await inbox.mark([claimed])).toEqual(['refused-busy'])
    const rival = await place.newInbox({ lockTimeoutMs: 5_000 })
    const again = await hold(rival, item, ALONE)
    expect([await place.committed('before'), await place.committed('slow')]).toEqual([0, 0])
    await rival.release([again.claim], NO_REFUND)
  })

  it('notices a procedure that has ended the transaction after it returned rows', async () => {
    await place.pool.query('create procedure hidden() begin select 1; create table other (a int); end')
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    await tx.query('call hidden()')
    expect(await codeOf(place.write(tx, 'loose'))).toBe('TRANSACTION_OVER')
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await place.committed('loose')).toBe(0)
  })

  it('goes on after a value that could not be sent', async () => {
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    await expect(tx.execute('insert into effect (name) values (?)', [undefined])).rejects.toThrow(TypeError)
    await place.write(tx, 'after')
    expect(await inbox.mark([claimed])).toEqual(['marked'])
  })

  it('keeps a handler that waits too long for a lock from committing the rest', async () => {
    const { claim: claimed } = await hold(inbox, newItem())
    const { tx } = lend(claimed)
    await tx.query('set session innodb_lock_wait_timeout = 1')
    const blocker = await place.pool.getConnection()
    await blocker.query('create table held (a int primary key) engine = InnoDB')
    await blocker.query('begin')
    await blocker.query('insert into held values (1)')
    await place.write(tx, 'before')
    await expect(tx.query('insert into held values (1)')).rejects.toMatchObject({ errno: 1205 })
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    await blocker.query('rollback')
    blocker.release()
    expect(await place.committed('before')).toBe(0)
  })
})

describeMariadb('mysqlInbox between two processes', () => {
  let place: MysqlPlace
  openedForEach(newMysqlPlace, (made) => (place = made))

  it('answers busy to the whole batch when one row is held for longer than the lock wait, and holds nothing of it', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    const [held, free] = [newItem(), newItem()]
    const { claim: claimed } = await hold(first, held)
    const before = Date.now()
    const answers = await claimAll(second, [free, held])
    expect(Date.now() - before).toBeLessThan(5_000)
    expect(answers.map(({ verdict }) => verdict)).toEqual(['busy', 'busy'])
    const granted = await hold(first, free)
    expect(granted.attempt).toBe(1)
    expect(await first.mark([claimed, granted.claim])).toEqual(['marked', 'marked'])
  })

  it('waits for nobody about what is done, however long its row is in a batch of others', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox()]
    const [done, fresh] = [newItem(), newItem()]
    await first.mark([(await hold(first, done)).claim])
    const answers = await claimAll(first, [done, fresh])
    expect(answers.map(({ verdict }) => verdict)).toEqual(['done', 'claimed'])
    expect(await claim(second, done)).toMatchObject({ verdict: 'done' })
    await first.release([grantedBy(answers[1]).claim], NO_REFUND)
  })

  it('grants a key to one of several that wait when its owner rolls back', async () => {
    const stores = await Promise.all([1, 2, 3, 4].map(() => place.newInbox({ lockTimeoutMs: 5_000 })))
    for (let round = 0; round < 5; round++) {
      const item = newItem()
      const [owner, ...others] = stores
      if (owner === undefined) throw new Error('expected stores')
      const { claim: claimed } = await hold(owner, item)
      const rivals = others.map((store) => claim(store, item, ALONE).then((answer) => ({ store, answer })))
      await waiting(place, others.length)
      await owner.release([claimed], NO_REFUND)
      const first = await Promise.race(rivals)
      const granted = grantedBy(first.answer)
      await first.store.mark([granted.claim])
      const verdicts = (await Promise.all(rivals)).map(({ answer }) => answer.verdict)
      expect(verdicts.toSorted()).toEqual(['claimed', 'done', 'done'])
    }
  })

  it('keeps 16 bytes of key and of digest, and no attempt of what is done', async () => {
    const inbox = await place.newInbox()
    const claims = (await claimAll(inbox, [newItem(), newItem()])).map((answer) => grantedBy(answer).claim)
    await inbox.mark(claims)
    const rows = await place.rows(
      'select length(`key`) as k, length(fp) as fp, outcome, reason, result from consume_once_inbox limit 1',
    )
    expect(rows).toEqual([{ k: 16, fp: 16, outcome: 'd', reason: null, result: null }])
    expect(await place.rows('select * from consume_once_attempt')).toEqual([])
  })

  it('finishes every claim when far more are made than there are connections', async () => {
    const pool = place.newPool({ connectionLimit: 3 })
    const stores = [await place.newInbox({ pool }), await place.newInbox({ pool })]
    const items = Array.from({ length: 30 }, () => newItem())
    await Promise.all(
      items.map(async (item, index) => {
        const store = stores[index % 2]
        if (store === undefined) throw new Error('expected a store')
        const { claim: claimed } = await hold(store, item)
        await place.write(lend(claimed).tx, item.key)
        await (index % 3 === 0 ? store.release([claimed], NO_REFUND) : store.mark([claimed]))
      }),
    )
    const answers = await claimAll(await place.newInbox(), items)
    expect(answers.map(({ verdict }) => verdict)).toEqual(
      items.map((_, index) => (index % 3 === 0 ? 'again-alone' : 'done')),
    )
  })

  it('needs no strict or familiar session: it works with other quotes, character sets and kinds of rows', async () => {
    const pool = place.newPool({
      charset: 'latin1_swedish_ci',
      rowsAsArray: true,
      bigNumberStrings: true,
      supportBigNumbers: true,
    })
    pool.on('connection', (connection) => {
      void connection.query(
        "set sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES', autocommit = 0, time_zone = '+09:00'",
      )
    })
    const store = await place.newInbox({ pool })
    const item = newItem()
    expect(await store.setAside([(await hold(store, item)).claim], 'parked', { reason: 'ключ \'"\\ 🔑' })).toEqual([
      'parked',
    ])
    expect(await claim(store, item)).toMatchObject({ verdict: 'parked', reason: 'ключ \'"\\ 🔑' })
    const other = newItem()
    await store.release([(await hold(store, other)).claim], NO_REFUND)
    const second = await hold(store, other, ALONE)
    expect(second.attempt).toBe(2)
    await store.mark([second.claim])
    expect(await claim(await place.newInbox(), other)).toMatchObject({ verdict: 'done' })
  })
})

function add(tx: MysqlTransaction, id: number): Promise<unknown> {
  return tx.query(`update account set n = n + 1 where id = ${id}`)
}

/** Until so many transactions wait for a lock. */
async function waiting(place: MysqlPlace, count: number): Promise<void> {
  const deadline = Date.now() + 4_000
  while (Date.now() < deadline) {
    const found = await place.rows(`select 1 from information_schema.innodb_trx t
      join information_schema.processlist p on p.id = t.trx_mysql_thread_id
      where t.trx_state = 'LOCK WAIT' and p.db = '${place.database}'`)
    if (found.length >= count) return
    // The server shows the same until it was not asked for 100 ms.
    await place.rows('select sleep(0.15)')
  }
  throw new Error(`expected ${count} transactions to wait for a lock by now`)
}
