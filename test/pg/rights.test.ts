import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { postgresInbox, postgresOutbox } from '../../adapters/pg/index.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Confirming } from '../kit/suites/outbox/confirming.ts'
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

  it('is told by doctor that the outbox has no table yet, and what rights it lacks', async () => {
    const { schema } = place
    const outbox = postgresOutbox({
      pool: place.newPool({ connectionString }),
      schema,
      publishers: { kafka: new Confirming() },
    })
    await place.pool.query(`grant usage on schema ${schema} to ${role}`)
    expect(await outbox.checkup()).toEqual([
      expect.objectContaining({ check: 'outbox.table', verdict: 'weaker', found: `no outbox in ${schema}` }),
    ])
    expect([await outbox.backlog(), await outbox.refused(), await outbox.redrive(['1'])]).toEqual([[], [], 0])
    expect(await outbox.unconfirmedOf('x'.repeat(22))).toEqual([])
    await (await place.newInbox()).open()
    const lacks = {
      check: 'outbox.rights',
      verdict: 'broken',
      meaning: expect.stringContaining('GRANT SELECT, INSERT'),
    }
    expect(await outbox.checkup()).toMatchObject([
      { ...lacks, found: 'no message can be written' },
      { ...lacks, found: 'no message can be published' },
      { check: 'outbox.backlog', verdict: 'unknown' },
    ])
    await place.pool.query(`grant select, insert on all tables in schema ${schema} to ${role}`)
    expect(await outbox.checkup()).toMatchObject([
      { ...lacks, found: 'no message can be published' },
      { check: 'outbox.backlog', verdict: 'holds' },
    ])
    const writing = postgresOutbox({ pool: place.newPool({ connectionString }), schema, relay: false })
    expect((await writing.checkup()).map(({ verdict }) => verdict)).toEqual(['holds', 'holds'])
    await place.pool.query(`grant update, delete on all tables in schema ${schema} to ${role}`)
    expect((await outbox.checkup()).map(({ verdict }) => verdict)).toEqual(['holds', 'holds'])
    expect(await outbox.backlog()).toEqual([])
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
