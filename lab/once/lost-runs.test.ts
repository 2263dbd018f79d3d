import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mysqlInbox, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { once, type OnceOptions } from '../../src/index.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import type { Clock } from '../../src/ports/clock.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { describeMariadb, newMysqlPlace, threadOf, type MysqlPlace } from '../../test/mysql/support.ts'
import { describePostgres, newPlace, type PgPlace } from '../../test/pg/support.ts'

const OPTIONS: OnceOptions<never> = { purge: 'never', waitMs: 30_000 }

/** The pauses between the runs of a function are short, other times as they are. */
const BRISK: Clock = {
  ...systemClock,
  after: (delayMs, fn, how) => systemClock.after(delayMs <= 1_000 ? 1 : delayMs, fn, how),
}

describePostgres('once on postgresInbox, when runs are lost', () => {
  let place: PgPlace
  beforeAll(async () => {
    place = await newPlace()
    await place.pool.query(`create table ${place.schema}.account (id int primary key, n int not null)`)
  }, SERVER_WITHIN_MS)
  afterAll(() => place.close())

  it('tells a query that is under way at the end of its function why it fails', async () => {
    const store = postgresInbox({ pool: place.newPool(), schema: place.schema })
    let query: Promise<unknown> | undefined
    const call = once<void, PgTransaction>(
      store,
      'floating',
      ({ tx }) => {
        query = tx.query('select pg_sleep(30)')
      },
      OPTIONS,
    )
    await expect(call).rejects.toMatchObject({ code: 'FLOATING_QUERY' })
    await expect(query).rejects.toMatchObject({ code: 'FLOATING_QUERY' })
  })

  it('runs its function three times at most, and says that nothing was committed', async () => {
    const pool = place.newPool()
    pool.on('error', () => {})
    const store = postgresInbox({ pool, schema: place.schema })
    let runs = 0
    const call = once<void, PgTransaction>(
      store,
      'cut',
      async ({ tx }) => {
        runs++
        await place.write(tx, 'cut')
        const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
        await place.terminate(rows[0]?.pid ?? 0)
      },
      OPTIONS,
    )
    await expect(call).rejects.toMatchObject({
      code: 'COMMIT_REFUSED',
      message: expect.stringContaining('nothing was committed'),
    })
    expect(runs).toBe(3)
    expect(await place.committed('cut')).toBe(0)
    expect(await once(store, 'cut', () => 'free', OPTIONS)).toEqual({ result: 'free', replayed: false })
  })

  it('runs deadlock victims again, each with its effect once', async () => {
    await place.pool.query(
      `delete from ${place.schema}.account; insert into ${place.schema}.account values (1, 0), (2, 0)`,
    )
    const store = postgresInbox({ pool: place.newPool(), schema: place.schema })
    const add = (at: number) =>
      once<void, PgTransaction>(
        store,
        `deadlock-${at}`,
        async ({ tx }) => {
          for (const id of at % 2 === 0 ? [1, 2] : [2, 1]) {
            await tx.query(`update ${place.schema}.account set n = n + 1 where id = $1`, [id])
          }
        },
        { ...OPTIONS, rememberFailure: () => true },
      )
    await Promise.all(Array.from({ length: 8 }, (_, at) => add(at)))
    expect((await place.pool.query(`select n from ${place.schema}.account`)).rows).toEqual([{ n: 8 }, { n: 8 }])
  }, 60_000)

  it('runs deadlock victims one after the other, so that twenty calls meet few deadlocks more than once', async () => {
    await place.pool.query(
      `delete from ${place.schema}.account; insert into ${place.schema}.account values (1, 0), (2, 0)`,
    )
    const store = postgresInbox({ pool: place.newPool({ max: 20 }), schema: place.schema })
    let runs = 0
    const add = (at: number) =>
      once<void, PgTransaction>(
        store,
        `crowd-${at}`,
        async ({ tx }) => {
          runs++
          for (const id of at % 2 === 0 ? [1, 2] : [2, 1]) {
            await tx.query(`update ${place.schema}.account set n = n + 1 where id = $1`, [id])
          }
        },
        { ...OPTIONS, waitMs: 60_000 },
      )
    await Promise.all(Array.from({ length: 20 }, (_, at) => add(at)))
    expect((await place.pool.query(`select n from ${place.schema}.account`)).rows).toEqual([{ n: 20 }, { n: 20 }])
    expect(runs).toBeLessThan(80)
  }, 90_000)

  it('names the conflict, and how many runs it ended, when its time is over', async () => {
    const store = postgresInbox({ pool: place.newPool(), schema: place.schema })
    const call = once<unknown, PgTransaction>(
      store,
      'named',
      ({ tx }) => tx.query(`do $$ begin raise exception 'met' using errcode = '40001'; end $$`),
      { ...OPTIONS, clock: BRISK },
    )
    await expect(call).rejects.toMatchObject({
      code: 'COMMIT_REFUSED',
      message: expect.stringMatching(/nothing was committed: .*serialize.* each of 20 runs of the function: .*met/),
      cause: { code: '40001' },
    })
  }, 60_000)

  it('runs again what fails to serialize, also at its COMMIT', async () => {
    await place.pool.query(
      `delete from ${place.schema}.account; insert into ${place.schema}.account values (1, 0), (2, 0)`,
    )
    const pool = place.newPool({ options: '-c default_transaction_isolation=serializable' })
    const store = postgresInbox({ pool, schema: place.schema })
    const add = (at: number) =>
      once<void, PgTransaction>(
        store,
        `skew-${at}`,
        async ({ tx }) => {
          const { rows } = await tx.query<{ n: string }>(`select sum(n) as n from ${place.schema}.account`)
          await tx.query(`update ${place.schema}.account set n = $1 where id = $2`, [
            Number(rows[0]?.n) + 1,
            (at % 2) + 1,
          ])
        },
        OPTIONS,
      )
    const ends = await Promise.allSettled(Array.from({ length: 6 }, (_, at) => add(at)))
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([])
  }, 60_000)
})

describeMariadb('once on mysqlInbox, when runs are lost', () => {
  let place: MysqlPlace
  beforeAll(async () => {
    place = await newMysqlPlace()
    await place.pool.query('create table account (id int primary key, n int not null) engine = InnoDB')
    await place.pool.query('insert into account values (1, 0), (2, 0)')
  }, SERVER_WITHIN_MS)
  afterAll(() => place.close())

  it('tells a query that is under way at the end of its function why it fails', async () => {
    const store = mysqlInbox({ pool: place.newPool() })
    let query: Promise<unknown> | undefined
    const call = once<void, MysqlTransaction>(
      store,
      'floating',
      ({ tx }) => {
        query = tx.query('select sleep(30)')
      },
      OPTIONS,
    )
    await expect(call).rejects.toMatchObject({ code: 'FLOATING_QUERY' })
    await expect(query).rejects.toMatchObject({ code: 'FLOATING_QUERY' })
  })

  it('runs its function three times at most, and says that nothing was committed', async () => {
    const store = mysqlInbox({ pool: place.newPool() })
    let runs = 0
    const call = once<void, MysqlTransaction>(
      store,
      'cut',
      async ({ tx }) => {
        runs++
        await place.write(tx, 'cut')
        await place.pool.query(`kill ${await threadOf(tx)}`)
      },
      OPTIONS,
    )
    await expect(call).rejects.toMatchObject({ message: expect.stringMatching(/commit/) })
    expect(runs).toBe(3)
    expect(await place.committed('cut')).toBe(0)
  })

  it('runs deadlock victims again, each with its effect once', async () => {
    const store = mysqlInbox({ pool: place.newPool() })
    const add = (at: number) =>
      once<void, MysqlTransaction>(
        store,
        `deadlock-${at}`,
        async ({ tx }) => {
          for (const id of at % 2 === 0 ? [1, 2] : [2, 1]) {
            await tx.query('update account set n = n + 1 where id = ?', [id])
          }
        },
        OPTIONS,
      )
    await Promise.all(Array.from({ length: 20 }, (_, at) => add(at)))
    expect(await place.rows('select n from account')).toEqual([{ n: 20 }, { n: 20 }])
  }, 60_000)

  it('names the conflict, and how many runs it ended, when its time is over', async () => {
    const store = mysqlInbox({ pool: place.newPool() })
    const call = once<unknown, MysqlTransaction>(
      store,
      'named',
      ({ tx }) => tx.query(`signal sqlstate '40001' set mysql_errno = 1213, message_text = 'met'`),
      { ...OPTIONS, clock: BRISK },
    )
    await expect(call).rejects.toMatchObject({
      code: 'COMMIT_REFUSED',
      message: expect.stringMatching(/nothing was committed: .* each of 20 runs of the function: .*met/),
      cause: { errno: 1213 },
    })
  }, 60_000)

  // MySQL has no such time-outs.
  it('outlasts the idle time-outs of the session, which it has again afterwards', async () => {
    const pool = place.newPool({ connectionLimit: 2 })
    pool.on('connection', (connection) => {
      void connection.query('set session idle_transaction_timeout = 1, session idle_write_transaction_timeout = 1')
    })
    const store = mysqlInbox({ pool })
    let runs = 0
    const answer = await once<string, MysqlTransaction>(
      store,
      'idle',
      async ({ tx }) => {
        runs++
        await place.write(tx, 'idle')
        // The time-out is whole seconds: one that is not lifted has passed by then.
        await place.pool.query('select sleep(2.5)')
        return 'done'
      },
      OPTIONS,
    )
    expect({ answer, runs }).toEqual({ answer: { result: 'done', replayed: false }, runs: 1 })
    const [rows] = await pool.query(
      'select @@session.idle_transaction_timeout as one, @@session.idle_write_transaction_timeout as other',
    )
    expect(rows).toEqual([{ one: 1, other: 1 }])
  }, 60_000)
})
