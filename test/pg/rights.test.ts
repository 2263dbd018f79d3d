import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { postgresInbox } from '../../adapters/pg/index.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { describePostgres, newPlace, type PgPlace } from './support.ts'

describePostgres('a role without rights', () => {
  let place: PgPlace
  let role: string
  let connectionString: string
  beforeEach(async () => {
    place = await newPlace()
    role = uniqueName('weak')
    await place.pool.query(`create role ${role} login password 's3cret'`)
    const weak = new URL((await server('postgres')).url)
    weak.username = role
    weak.password = 's3cret'
    connectionString = weak.href
  })
  afterEach(async () => {
    await place.pool.query(`drop owned by ${role}`)
    await place.pool.query(`drop role ${role}`)
    await place.close()
  })

  it('is told at the start what to grant, and starts when it is granted', async () => {
    await (await place.newInbox()).open()
    const { schema } = place
    const inbox = postgresInbox({ pool: place.newPool({ connectionString }), schema, setup: 'check' })
    await expect(inbox.open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`GRANT USAGE ON SCHEMA ${schema} TO`),
    })
    await place.pool.query(`grant usage on schema ${schema} to ${role}`)
    await expect(inbox.open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA/),
    })
    await place.pool.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
    await inbox.open()
  })

  it('waits after a REVOKE, and goes on after the GRANT that the error names', async () => {
    await (await place.newInbox()).open()
    const { schema } = place
    const all = `all on all tables in schema ${schema}`
    await place.pool.query(`grant usage on schema ${schema} to ${role}; grant ${all} to ${role}`)
    const inbox = postgresInbox({ pool: place.newPool({ connectionString }), schema, setup: 'check' })
    await inbox.open()
    await place.pool.query(`revoke ${all} from ${role}`)
    const item = newItem()
    await expect(hold(inbox, item)).rejects.toMatchObject({
      name: 'StoreError',
      message: expect.stringContaining('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES'),
    })
    await place.pool.query(`grant ${all} to ${role}`)
    await inbox.mark([(await hold(inbox, item)).claim])
  })
})
