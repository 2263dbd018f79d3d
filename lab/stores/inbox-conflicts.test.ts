import { expect, it } from '@jest/globals'
import {
  defineConsumer,
  messageId,
  runInline,
  type HandlerContext,
  type Message,
  type Settlement,
  type Store,
} from '../../src/index.ts'
import { mysqlInbox, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { describeMariadb, newMysqlPlace } from '../../test/mysql/support.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { codeOf, describePostgres, lend, newPlace, type PgPlace } from '../../test/pg/support.ts'
import { closedAfterEach } from '../../test/kit/after-each.ts'

const closing = closedAfterEach()

interface Handled {
  readonly outcome: Settlement['outcome']
  readonly reason: string | undefined
}

interface How<Tx> {
  readonly ids: readonly string[]
  readonly maxAttempts?: number
  /** In one transaction. */
  readonly batchSize?: number
  readonly handle: (tx: Tx, context: { readonly id: string; readonly attempt: number }) => Promise<unknown>
}

async function handled<Tx>(
  store: Store<Tx>,
  { ids, maxAttempts = 3, batchSize = 1, handle }: How<Tx>,
): Promise<readonly Handled[]> {
  const consumer = defineConsumer<unknown, unknown, Tx>({
    name: 'consumer',
    id: messageId.header('id'),
    store,
    maxAttempts,
    batchSize,
    transactions: 7,
    backoff: { initialMs: 2, maxMs: 100 },
    handle: async (context: HandlerContext<unknown, Tx>) => {
      if (!('tx' in context)) throw new Error('expected a transaction')
      await handle(context.tx, { id: String(context.message.headers['id']), attempt: context.attempt })
    },
  })
  const running = runInline(consumer, { group: uniqueName('group') })
  closing.push(() => running.stop())
  await running.open()
  return Promise.all(
    ids.map(async (id) => {
      const { outcome, reason } = await running.handle(messageOf(id))
      return { outcome, reason }
    }),
  )
}

function messageOf(id: string): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'rabbitmq', ...place, key: null, value: Buffer.from('{}'), headers: { id }, timestamp: undefined }
}

const ONCE = { outcome: 'handled', reason: undefined }
const GIVEN_UP = { outcome: 'dead-lettered', reason: 'attempts-spent' }

function idsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `m${index}`)
}

async function strictPlace(level: string): Promise<{ place: PgPlace; store: Store<PgTransaction> }> {
  const place = await newPlace()
  closing.push(place.close)
  await place.pool.query(`create table ${place.schema}.counter (id int primary key, n int not null)`)
  await place.pool.query(`insert into ${place.schema}.counter values (1, 0)`)
  const options = `-c default_transaction_isolation=${level.replaceAll(' ', String.raw`\ `)}`
  return { place, store: await place.newInbox({ pool: place.newPool({ max: 8, options }) }) }
}

function increment({ schema }: PgPlace): (tx: PgTransaction) => Promise<void> {
  return async (tx) => {
    const { rows } = await tx.query<{ n: number }>(`select n from ${schema}.counter where id = 1`)
    await tx.query(`update ${schema}.counter set n = $1 where id = 1`, [(rows[0]?.n ?? 0) + 1])
  }
}

async function counted({ pool, schema }: PgPlace): Promise<number> {
  const { rows } = await pool.query(`select n from ${schema}.counter`)
  return (rows as { n: number }[])[0]?.n ?? 0
}

describePostgres('transactions that lose against each other, on Postgres,', () => {
  it.each(['serializable', 'repeatable read'])('lose no increment, and no attempt, at %s', async (level) => {
    const { place, store } = await strictPlace(level)
    const all = await handled(store, { ids: idsOf(40), maxAttempts: 1, handle: increment(place) })
    expect(all).toEqual(idsOf(40).map(() => ONCE))
    expect(await counted(place)).toBe(40)
    expect((await place.pool.query(`select 1 from ${place.schema}.attempt`)).rowCount).toBe(0)
  })

  it('have the level of the pool, and one that asks for none read committed', async () => {
    const levels: unknown[] = []
    const handle = async (tx: PgTransaction): Promise<void> => {
      levels.push(...(await tx.query('show transaction_isolation')).rows)
    }
    const { place, store } = await strictPlace('serializable')
    await handled(store, { ids: ['strict'], handle })
    await handled(await place.newInbox(), { ids: ['usual'], handle })
    expect(levels).toEqual([{ transaction_isolation: 'serializable' }, { transaction_isolation: 'read committed' }])
  })

  it('rarely lose, with one message in each, if their handlers share no row', async () => {
    const { place, store } = await strictPlace('serializable')
    const starts: string[] = []
    const handle = async (tx: PgTransaction, { id }: { readonly id: string }): Promise<void> => {
      starts.push(id)
      await place.write(tx, id)
    }
    expect(await handled(store, { ids: idsOf(200), handle })).toEqual(idsOf(200).map(() => ONCE))
    expect(starts.length).toBeLessThan(300)
  })

  it('leave partitions of stored offsets alone that have no row in common', async () => {
    const { place } = await strictPlace('serializable')
    const options = '-c default_transaction_isolation=serializable'
    const store = await place.newOffsets({ pool: place.newPool({ max: 8, options }) })
    const streams = ['a', 'b', 'c', 'd', 'e']
    for (let offset = 0n; offset < 8n; offset++) {
      const held = await Promise.all(
        streams.map((stream) => {
          const position = { stream, offset, follows: offset === 0n ? undefined : offset }
          return hold(store, { ...newItem({ digest: '' }), position })
        }),
      )
      await Promise.all(held.map(({ claim }, index) => place.write(lend(claim).tx, `${streams[index]} ${offset}`)))
      expect(await Promise.all(held.map(({ claim }) => store.mark([claim])))).toEqual(streams.map(() => ['marked']))
    }
  })

  it('are counted in the end where a statement of the handler always loses', async () => {
    const { place, store } = await strictPlace('read committed')
    await place.pool.query(`create function ${place.schema}.lose() returns int language plpgsql as
      $$ begin raise exception 'chosen to lose' using errcode = '40P01'; end $$`)
    const attempts: number[] = []
    const handle = async (tx: PgTransaction, { attempt }: { readonly attempt: number }): Promise<void> => {
      attempts.push(attempt)
      await tx.query(`select ${place.schema}.lose()`)
    }
    expect(await handled(store, { ids: ['m'], handle })).toEqual([GIVEN_UP])
    expect(attempts.filter((attempt) => attempt === 1).length).toBeGreaterThan(10)
    expect(attempts.slice(-2)).toEqual([2, 3])
  })

  it('are counted in the end where the COMMIT always loses', async () => {
    const { place, store } = await strictPlace('read committed')
    await place.pool.query(`create function ${place.schema}.lose() returns trigger language plpgsql as
      $$ begin raise exception 'chosen to lose' using errcode = '40001'; end $$;
      create constraint trigger lose after insert on ${place.schema}.effect deferrable initially deferred
      for each row execute function ${place.schema}.lose()`)
    const handle = (tx: PgTransaction): Promise<unknown> => place.write(tx, 'never')
    expect(await handled(store, { ids: ['m'], handle })).toEqual([GIVEN_UP])
    expect(await place.committed('never')).toBe(0)
  })

  it.each([
    ['lets that fail', false],
    ['swallows that', true],
  ])('are counted in the end where a handler always ends its backend, and %s', async (_, isSwallowed) => {
    const place = await newPlace()
    closing.push(place.close)
    const pool = place.newPool()
    pool.on('error', () => {})
    const store = await place.newInbox({ pool })
    let starts = 0
    const handle = async (tx: PgTransaction): Promise<void> => {
      starts++
      const ending = tx.query('select pg_terminate_backend(pg_backend_pid())')
      await (isSwallowed ? ending.catch(() => {}) : ending)
    }
    expect(await handled(store, { ids: ['m'], handle })).toEqual([GIVEN_UP])
    expect(starts).toBeGreaterThan(3)
  })
})

describeMariadb('transactions that lose against each other, on MariaDB,', () => {
  it('are counted in the end where a handler always answers 1213', async () => {
    const place = await newMysqlPlace()
    closing.push(place.close)
    const attempts: number[] = []
    const handle = async (tx: MysqlTransaction, { attempt }: { readonly attempt: number }): Promise<void> => {
      attempts.push(attempt)
      await tx.query(`signal sqlstate '40001' set mysql_errno = 1213, message_text = 'chosen to lose'`)
    }
    expect(await handled(await place.newInbox(), { ids: ['m'], handle })).toEqual([GIVEN_UP])
    expect(attempts.filter((attempt) => attempt === 1).length).toBeGreaterThan(10)
    expect(attempts.slice(-2)).toEqual([2, 3])
  })

  it.each([
    ['REPEATABLE READ', 'holds', /^$/, 'no error'],
    ['SERIALIZABLE', 'broken', /does not open here/, 'CONFIG_INVALID'],
  ])('are read committed where the pool asks for %s, and are said to be', async (level, verdict, meaning, code) => {
    const place = await newMysqlPlace()
    closing.push(place.close)
    const pool = place.newPool()
    pool.on('connection', (connection) => void connection.query(`set session transaction isolation level ${level}`))
    const store = mysqlInbox({ pool })
    expect(await store.checkup?.()).toContainEqual({
      check: 'mysql.isolation',
      verdict,
      found: `sessions ask for ${level.replace(' ', '-')}; transactions of handlers are READ-COMMITTED`,
      meaning: expect.stringMatching(meaning),
    })
    expect(await codeOf(store.open())).toBe(code)
  })

  it('spend no attempt, even the only one, if they lose a few times', async () => {
    const place = await newMysqlPlace()
    closing.push(place.close)
    let starts = 0
    const handle = async (tx: MysqlTransaction): Promise<void> => {
      if (++starts <= 3) await tx.query(`signal sqlstate '40001' set mysql_errno = 1213, message_text = 'lost'`)
    }
    const all = await handled(await place.newInbox(), { ids: ['m'], maxAttempts: 1, handle })
    expect(all).toEqual([ONCE])
    expect(starts).toBe(4)
  })
})
