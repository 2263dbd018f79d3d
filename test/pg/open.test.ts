import { afterEach, expect, it } from '@jest/globals'
import { postgresInbox, postgresLease, postgresOffsets } from '../../adapters/pg/index.ts'
import { describeError } from '../../src/spi.ts'
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
      for (const table of ['inbox', 'attempt', 'lease', 'position', 'begun']) {
        expect((await pool.query(`select 1 from ${schema}.${table}`)).rowCount).toBe(0)
      }
    },
  )

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
