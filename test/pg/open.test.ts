import { afterEach, expect, it } from '@jest/globals'
import { postgresInbox, postgresLease, postgresOffsets } from '../../adapters/pg/index.ts'
import { THINGS } from '../../adapters/pg/statements/read-settings.ts'
import { describeError } from '../../src/internal.ts'
import { openedForEach } from '../kit/opened.ts'
import { uniqueName } from '../kit/namespace.ts'
import { describePostgres, newPlace, type PgPlace } from './support.ts'

const STORES = { postgresInbox, postgresLease, postgresOffsets }

describePostgres('open() and the checkup try a claim, and roll it back', () => {
  let place: PgPlace
  let role: string | undefined
  openedForEach(newPlace, (made) => (place = made))
  afterEach(async () => {
    if (role === undefined) return
    const after = await newPlace()
    await after.pool.query(`drop owned by ${role}`)
    await after.pool.query(`drop role ${role}`)
    await after.close()
    role = undefined
  })

  it.each(['postgresInbox', 'postgresLease', 'postgresOffsets'] as const)(
    '%s: named are the rights of a role',
    async (name) => {
      const { schema, pool } = place
      const store = STORES[name]({ pool, schema })
      await store.open()
      expect(await store.checkup?.()).toContainEqual(
        expect.objectContaining({ check: 'postgres.claim', verdict: 'holds' }),
      )
      role = uniqueName('reader')
      await pool.query(`create role ${role} login`)
      await pool.query(`grant usage on schema ${schema} to ${role}`)
      await pool.query(`grant select on all tables in schema ${schema} to ${role}`)
      const ofRole = (): ReturnType<PgPlace['newPool']> => {
        const made = place.newPool({ max: 2 })
        made.on('connect', (client) => void client.query(`set session authorization ${role}`))
        return made
      }
      const refused = STORES[name]({ pool: ofRole(), schema, setup: 'check' })
      expect(await refused.open().then(() => '', describeError)).toMatch(
        new RegExp(`permission denied.*grant usage on schema ${schema}, and select, insert, update, delete`),
      )
      expect(await refused.checkup?.()).toContainEqual(
        expect.objectContaining({ check: 'postgres.claim', verdict: 'broken' }),
      )
      // These are enough.
      await pool.query(`grant insert, update, delete on all tables in schema ${schema} to ${role}`)
      await STORES[name]({ pool: ofRole(), schema, setup: 'check' }).open()
      for (const table of ['inbox', 'attempt', 'claim', 'lease', 'position', 'begun']) {
        expect((await pool.query(`select 1 from ${schema}.${table}`)).rowCount).toBe(0)
      }
    },
  )

  it.each(['inbox', 'attempt', 'claim', 'lease', 'position'])('without the table %s, which was there', async (name) => {
    const { schema, pool } = place
    await postgresInbox({ pool, schema }).open()
    await pool.query(`drop table ${schema}.${name} cascade`)
    for (const store of [postgresInbox({ pool, schema }), postgresInbox({ pool, schema, setup: 'check' })]) {
      const told = await store.open().then(() => '', describeError)
      expect(told).toContain(`table ${schema}.${name}: expected a table`)
      expect(told).toContain('restore it with its rows')
      expect(told).not.toContain('there twice')
      expect(await store.checkup?.()).toContainEqual(
        expect.objectContaining({ check: 'postgres.schema', verdict: 'broken', found: expect.stringContaining(name) }),
      )
    }
  })

  it('the checkup names every index that is missing, and knows all that migrations create', async () => {
    const { schema, pool } = place
    const store = postgresInbox({ pool, schema })
    const missing = async (): Promise<readonly string[]> => {
      const findings = (await store.checkup?.()) ?? []
      return findings.filter(({ check }) => check === 'postgres.schema').map(({ found }) => found)
    }
    // Nothing is missing before the first open().
    expect(await missing()).toEqual([])
    await store.open()
    expect(await missing()).toEqual([])
    const { rows } = await pool.query(
      `select c.relname as name from pg_class c left join pg_index i on i.indexrelid = c.oid
       where c.relnamespace = $1::regnamespace and c.relname not in ('effect', 'migration')
         and (c.relkind = 'r' or c.relkind = 'i' and not i.indisunique) order by 1`,
      [schema],
    )
    expect(rows.map(({ name }: { readonly name: string }) => name)).toEqual(Object.values(THINGS).flat().toSorted())
    await pool.query(`alter table ${schema}.audit rename to elsewhere`)
    expect(await missing()).toEqual(['table audit is missing, and its migrations ran'])
    await store.open()
    await pool.query(`alter table ${schema}.elsewhere rename to audit`)
    for (const name of THINGS.index) await pool.query(`drop index ${schema}.${name}`)
    expect(await missing()).toEqual(THINGS.index.map((name) => `index ${name} is missing`))
    await store.open()
  })

  it.each([
    ['statement_timeout', 'broken'],
    ['lock_timeout', 'weaker'],
    ['idle_session_timeout', 'weaker'],
  ])('the checkup names a %s of milliseconds', async (setting, verdict) => {
    const { schema } = place
    await postgresInbox({ pool: place.pool, schema }).open()
    const timeouts = async (value: string): Promise<unknown> => {
      const store = postgresInbox({ pool: place.newPool({ options: `-c ${setting}=${value}` }), schema })
      return (await store.checkup?.())?.filter(({ check }) => check === 'postgres.timeouts')
    }
    expect(await timeouts('500ms')).toMatchObject([{ verdict, found: `${setting} 500 ms` }])
    expect(await timeouts('30s')).toMatchObject([{ verdict: 'holds' }])
    expect(await timeouts('0')).toMatchObject([{ verdict: 'holds' }])
  })

  it('the checkup names a limit of whole transactions, which Postgres has from 17 on', async () => {
    const { rows } = await place.pool.query(`select current_setting('transaction_timeout', true) is not null as has`)
    const has = (rows as { has: boolean }[])[0]?.has === true
    const pool = place.newPool(has ? { options: '-c transaction_timeout=30s' } : {})
    const findings = (await postgresInbox({ pool, schema: place.schema }).checkup?.()) ?? []
    const told = findings.filter(({ check }) => check === 'postgres.transaction_timeout')
    expect(told.map(({ verdict, found }) => ({ verdict, found }))).toEqual(
      has ? [{ verdict: 'weaker', found: 'transaction_timeout 30s' }] : [],
    )
  })
})
