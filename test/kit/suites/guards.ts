import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { advanceState, insertOnce, lockRow, updateVersioned, type GuardClient } from '../../../adapters/guards/index.ts'

/** A database with the tables `orders` and `log`, and sessions on it. */
export interface GuardRig {
  /** Provided by each kind of client, in an open transaction of its own. */
  readonly clients: Readonly<Record<string, () => Promise<Session>>>
  /** On a connection of its own, without a transaction. */
  readonly session: () => Promise<Session>
  readonly pool: GuardClient
  /** Resolves when a transaction of this test waits for another. */
  readonly waiting: () => Promise<void>
  /** Round trips of `roundTrips()` itself, and of a guard that finds that it has nothing to apply. */
  /** A transaction that waits for a row which has changed since its snapshot fails, instead of seeing the change. */
  readonly failsAfterChange: boolean
  readonly costs: { readonly ofCounting: number; readonly ofRepeat: number }
  readonly close: () => Promise<void>
}

export interface Session {
  readonly tx: GuardClient
  /** Rows of a statement without values. */
  readonly run: (sql: string) => Promise<Record<string, unknown>[]>
  /** Ends the transaction. */
  readonly end: (how: 'commit' | 'rollback') => Promise<void>
  /** Round trips of this connection so far, counted on the wire or by the server, not by the client. */
  readonly roundTrips: () => Promise<number>
}

/** `id` varies in length, `code` is another unique index. */
export const TABLES: readonly string[] = [
  `create table orders (id varchar(40) primary key, status varchar(20) not null, level int not null default 0,
    version int not null default 1, changed timestamp(6) null, note varchar(40), code varchar(40) unique)`,
  'create table log (id varchar(40) not null)',
  'create table numbered (id int primary key, big bigint not null)',
]

let used = 0
export function newId(): string {
  return `o-${++used}`
}

const insert = (id: string, more: Readonly<Record<string, unknown>> = {}) =>
  ({ table: 'orders', row: { id, status: 'created', ...more }, conflict: 'id' }) as const

const pay = (id: string) => ({ table: 'orders', key: { id }, column: 'status', to: 'paid', from: ['created'] }) as const

const rename = (id: string, expected: number) =>
  ({
    table: 'orders',
    key: { id },
    version: { column: 'version', expected },
    set: { note: `at ${expected}` },
  }) as const

const key = (id: string, waitMs?: number) => ({
  table: 'orders',
  key: { id },
  ...(waitMs === undefined ? {} : { waitMs }),
})

/** ER_CHECKREAD of MariaDB. */
const CHANGED = { reason: { errno: 1020 } }

/** Laws of every guard on every database. */
export function describeGuards(newRig: () => Promise<GuardRig>): void {
  let rig: GuardRig
  beforeAll(async () => {
    rig = await newRig()
  })
  afterAll(async () => {
    await rig?.close()
  })
  /** In a transaction that is rolled back. */
  const inTransaction = async (work: (session: Session) => Promise<void>): Promise<void> => {
    const session = await begun()
    try {
      await work(session)
    } finally {
      await session.end('rollback')
    }
  }
  const begun = async (): Promise<Session> => {
    const session = await rig.session()
    await session.run('begin')
    return session
  }
  const order = async (row: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const id = newId()
    await insertOnce(rig.pool, { table: 'orders', row: { id, status: 'created', ...row }, conflict: 'id' })
    return id
  }

  describe('insertOnce', () => {
    it.each([false, true])('inserts once, and answers the row that is there (peek %s)', async (peek) => {
      const id = newId()
      await inTransaction(async ({ tx }) => {
        const first = await insertOnce(tx, { ...insert(id, { note: `it's "so"; \\` }), peek })
        const second = await insertOnce(tx, { ...insert(id, { note: 'other' }), peek })
        expect(first).toEqual({ verdict: 'applied' })
        expect(second).toMatchObject({ verdict: 'already', row: { id, status: 'created', note: `it's "so"; \\` } })
        expect(Object.keys(second.verdict === 'already' ? second.row : {})).toHaveLength(7)
      })
    })

    it.each([false, true])('lets one of two transactions insert; the other waits (peek %s) [T267]', async (peek) => {
      const id = newId()
      const [a, b] = [await begun(), await begun()]
      expect(await insertOnce(a.tx, { ...insert(id, { note: 'a' }), peek })).toEqual({ verdict: 'applied' })
      const second = insertOnce(b.tx, { ...insert(id, { note: 'b' }), peek })
      await rig.waiting()
      await a.end('commit')
      const [ended] = await Promise.allSettled([second])
      const already = { value: { verdict: 'already', row: { note: 'a' } } }
      expect(ended).toMatchObject(peek && rig.failsAfterChange ? CHANGED : already)
      expect(await b.run('select 1 as one')).toEqual([{ one: 1 }])
      await b.end('commit')
      expect(await insertOnce(rig.pool, insert(id))).toMatchObject({ row: { note: 'a' } })
    })

    it('inserts if the transaction that it waited for is rolled back [T271]', async () => {
      const id = newId()
      const [a, b] = [await begun(), await begun()]
      await insertOnce(a.tx, insert(id, { note: 'a' }))
      const second = insertOnce(b.tx, insert(id, { note: 'b' }))
      await rig.waiting()
      await a.end('rollback')
      expect(await second).toEqual({ verdict: 'applied' })
      await b.end('commit')
      expect(await insertOnce(rig.pool, insert(id))).toMatchObject({ row: { note: 'b' } })
    })

    it('says which index decides, if a row has other values in these columns', async () => {
      const code = newId()
      await order({ code })
      const other = insertOnce(rig.pool, insert(newId(), { code }))
      await expect(other).rejects.toThrow(/unique|conflict: expected the columns/)
    })

    it('a select before an insert is useless alone: two transactions that look first both insert', async () => {
      const id = newId()
      const [a, b] = [await begun(), await begun()]
      const look = `select id from log where id = '${id}'`
      expect([await a.run(look), await b.run(look)]).toEqual([[], []])
      for (const session of [a, b]) await session.run(`insert into log (id) values ('${id}')`)
      for (const session of [a, b]) await session.end('commit')
      const session = await rig.session()
      expect(await session.run(look)).toHaveLength(2)
    })
  })

  describe('advanceState', () => {
    it('applies, knows a repeated event and a late one, and misses a row', async () => {
      const id = await order()
      expect(await advanceState(rig.pool, { ...pay(id), set: { note: 'by card' } })).toEqual({
        verdict: 'applied',
        state: 'paid',
      })
      expect(await advanceState(rig.pool, pay(id))).toEqual({ verdict: 'already', state: 'paid' })
      const late = advanceState(rig.pool, { ...pay(id), to: 'created', from: ['draft'] })
      expect(await late).toEqual({ verdict: 'out-of-order', state: 'paid' })
      expect(await advanceState(rig.pool, pay(newId()))).toEqual({ verdict: 'missing' })
      expect(await insertOnce(rig.pool, insert(id))).toMatchObject({ row: { status: 'paid', note: 'by card' } })
    })

    it('says of a row without a state which one it is, and what to do', async () => {
      const id = await order()
      const answer = await advanceState(rig.pool, { ...pay(id), column: 'note' })
      expect(answer).toEqual({ verdict: 'unset', problem: expect.stringContaining(`id "${id}"`) })
      expect(answer).toMatchObject({ problem: expect.stringMatching(/^orders, .*note, got NULL.*NOT NULL$/) })
      expect(await advanceState(rig.pool, pay(id))).toEqual({ verdict: 'applied', state: 'paid' })
    })

    it('waits for a transaction that changes the row, and judges by what it commits [T268]', async () => {
      const id = await order()
      const [a, b] = [await begun(), await begun()]
      await advanceState(a.tx, pay(id))
      const shipped = advanceState(b.tx, { ...pay(id), to: 'shipped', from: ['paid'] })
      await rig.waiting()
      await a.end('commit')
      expect(await shipped).toEqual({ verdict: 'applied', state: 'shipped' })
      await b.end('commit')
      const [c, d] = [await begun(), await begun()]
      await advanceState(c.tx, { ...pay(id), to: 'closed', from: ['shipped'] })
      const returned = advanceState(d.tx, { ...pay(id), to: 'returned', from: ['shipped'] })
      await rig.waiting()
      await c.end('commit')
      expect(await returned).toEqual({ verdict: 'out-of-order', state: 'closed' })
      await d.end('commit')
    })
  })

  describe('updateVersioned', () => {
    it('applies at the expected version, and tells the version of a row that moved on', async () => {
      const id = await order()
      expect(await updateVersioned(rig.pool, rename(id, 1))).toEqual({ verdict: 'applied', version: 2 })
      expect(await updateVersioned(rig.pool, rename(id, 1))).toEqual({ verdict: 'stale', version: 2 })
      expect(await updateVersioned(rig.pool, rename(newId(), 1))).toEqual({ verdict: 'missing' })
    })

    it('says of a row without a version which one it is, and what to do', async () => {
      const id = await order()
      const [expected, next] = [new Date(0), new Date(1)]
      const change = { ...rename(id, 1), version: { column: 'changed', expected, next } } as const
      const answer = await updateVersioned(rig.pool, change)
      expect(answer).toMatchObject({ verdict: 'unset', problem: expect.stringContaining('changed, got NULL') })
      expect(await updateVersioned(rig.pool, rename(id, 1))).toEqual({ verdict: 'applied', version: 2 })
    })

    it('lets one of two concurrent changes through [T269]', async () => {
      const id = await order()
      const [a, b] = [await begun(), await begun()]
      await updateVersioned(a.tx, rename(id, 1))
      const second = updateVersioned(b.tx, rename(id, 1))
      await rig.waiting()
      await a.end('commit')
      expect(await second).toEqual({ verdict: 'stale', version: 2 })
      await b.end('commit')
    })

    it('takes a Date for its millisecond, and numbers beyond 2^53 as bigint', async () => {
      const [read, next] = [new Date('2026-01-02T03:04:05.678Z'), new Date('2026-01-02T03:04:05.679Z')]
      const id = await order({ changed: read })
      const change = { ...rename(id, 1), version: { column: 'changed', expected: read, next } } as const
      expect(await updateVersioned(rig.pool, change)).toEqual({ verdict: 'applied', version: next })
      expect(await updateVersioned(rig.pool, change)).toEqual({ verdict: 'stale', version: next })
      const big = 2n ** 60n + 1n
      const number = ++used
      await insertOnce(rig.pool, { table: 'numbered', row: { id: number, big }, conflict: ['id'] })
      const session = await rig.session()
      const bumped = {
        table: 'numbered',
        key: { id: number },
        set: { id: number },
        version: { column: 'big', expected: big },
      }
      expect(await updateVersioned(session.tx, bumped)).toEqual({ verdict: 'applied', version: big + 1n })
      expect((await updateVersioned(session.tx, bumped)).verdict).toBe('stale')
    })
  })

  describe('lockRow', () => {
    it('blocks another transaction until the end of its own [T273]', async () => {
      const id = await order()
      const [a, b] = [await begun(), await begun()]
      expect(await lockRow(a.tx, key(id))).toMatchObject({ verdict: 'locked', row: { id, status: 'created' } })
      expect(await lockRow(b.tx, key(id, 0))).toEqual({ verdict: 'busy' })
      await a.run(`update orders set note = 'by a' where id = '${id}'`)
      const waited = lockRow(b.tx, key(id, 60_000))
      await rig.waiting()
      await a.end('commit')
      const [ended] = await Promise.allSettled([waited])
      const locked = { value: { verdict: 'locked', row: { note: 'by a' } } }
      expect(ended).toMatchObject(rig.failsAfterChange ? CHANGED : locked)
      await b.end('commit')
    })

    it('a wait that is over leaves the transaction as it was', async () => {
      const id = await order()
      const other = newId()
      const [a, b] = [await begun(), await begun()]
      await lockRow(a.tx, key(id))
      await insertOnce(b.tx, insert(other))
      expect(await lockRow(b.tx, key(id, 100))).toEqual({ verdict: 'busy' })
      expect(await insertOnce(b.tx, insert(other))).toMatchObject({ verdict: 'already' })
      await b.end('commit')
      await a.end('commit')
      expect(await insertOnce(rig.pool, insert(other))).toMatchObject({ verdict: 'already' })
    })

    it('misses a row without waiting, and refuses a key of several rows and a pool [T274]', async () => {
      const note = newId()
      await order({ note })
      await order({ note })
      await inTransaction(async ({ tx }) => {
        expect(await lockRow(tx, key(newId()))).toEqual({ verdict: 'missing' })
        await expect(lockRow(tx, { table: 'orders', key: { note } })).rejects.toThrow('a primary or unique key')
      })
      await expect(lockRow(rig.pool, key(note))).rejects.toThrow('got a pool, which ends the lock')
    })
  })

  it('a guard takes the round trip of its statement, and no other [T290]', async () => {
    const { tx, roundTrips, end } = await begun()
    const { ofCounting, ofRepeat } = rig.costs
    const taken = async (guard: () => Promise<{ readonly verdict: string }>): Promise<readonly [string, number]> => {
      const before = await roundTrips()
      const { verdict } = await guard()
      return [verdict, (await roundTrips()) - before - ofCounting]
    }
    const id = newId()
    expect(await taken(() => insertOnce(tx, insert(id)))).toEqual(['applied', 1])
    expect(await taken(() => advanceState(tx, pay(id)))).toEqual(['applied', 1])
    expect(await taken(() => updateVersioned(tx, rename(id, 1)))).toEqual(['applied', 1])
    expect(await taken(() => lockRow(tx, key(id)))).toEqual(['locked', 1])
    expect(await taken(() => insertOnce(tx, insert(id)))).toEqual(['already', ofRepeat])
    expect(await taken(() => advanceState(tx, pay(id)))).toEqual(['already', ofRepeat])
    expect(await taken(() => updateVersioned(tx, rename(id, 1)))).toEqual(['stale', ofRepeat])
    // MariaDB searches without an index by locking every row: an open transaction would stop other tests.
    await end('rollback')
  })

  it('a key of several rows changes none of them', async () => {
    const note = newId()
    const ids = [await order({ note }), await order({ note })]
    await inTransaction(async ({ tx }) => {
      const change = { ...pay(''), key: { note } }
      await expect(advanceState(tx, change)).rejects.toThrow('got one of 2 rows')
    })
    for (const id of ids) expect(await insertOnce(rig.pool, insert(id))).toMatchObject({ row: { status: 'created' } })
  })

  it('an unknown table, column or value is a ConfigError that names it', async () => {
    const id = await order()
    const wrong: readonly Promise<unknown>[] = [
      insertOnce(rig.pool, { ...insert(id), table: 'ordres' }),
      insertOnce(rig.pool, insert(id, { colour: 'red' })),
      advanceState(rig.pool, { ...pay(id), column: 'state' }),
      updateVersioned(rig.pool, {
        table: 'orders',
        key: { id },
        version: { column: 'v', expected: 1 },
        set: { note: '' },
      }),
      lockRow((await rig.session()).tx, { table: 'orders', key: { number: id } }),
    ]
    const found = await Promise.allSettled(wrong)
    const told = found.map((one) => (one.status === 'rejected' ? String(one.reason) : one.value))
    expect(told).toEqual(found.map(() => expect.stringMatching(/^ConfigError: .*expected columns and values/)))
    expect(told[2]).toMatch(/advanceState: .*orders.*state/)
  })

  it('quotes names and passes values, whatever is in them', async () => {
    const session = await rig.session()
    const hostile = `x' or '1'='1`
    await inTransaction(async ({ tx }) => {
      expect(await lockRow(tx, { table: 'orders', key: { id: hostile } })).toEqual({ verdict: 'missing' })
      await expect(lockRow(tx, { table: 'orders"; drop table log; --`', key: { id: '1' } })).rejects.toThrow(
        /ConfigError|expected columns/,
      )
    })
    await insertOnce(session.tx, insert(hostile, { note: `"\`'\\` }))
    expect(await insertOnce(session.tx, insert(hostile))).toMatchObject({ row: { id: hostile, note: `"\`'\\` } })
  })

  it('runs on every client that the docs name, also twice in a transaction', async () => {
    const seen: unknown[] = []
    for (const open of Object.values(rig.clients)) {
      const { tx, end } = await open()
      const id = newId()
      for (let copy = 0; copy < 2; copy++) seen.push((await insertOnce(tx, insert(id))).verdict)
      for (let copy = 0; copy < 2; copy++) seen.push((await advanceState(tx, pay(id))).verdict)
      seen.push((await lockRow(tx, key(id))).verdict)
      await end('commit')
      seen.push((await insertOnce(rig.pool, insert(id))).verdict)
    }
    const each = ['applied', 'already', 'applied', 'already', 'locked', 'already']
    expect(seen).toEqual(Object.keys(rig.clients).flatMap(() => each))
  })
}
