import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createPool, type Pool } from 'mysql2/promise'
import { mysqlInbox, mysqlLease, mysqlOutbox, type MysqlOutboxOptions } from '../../adapters/mysql2/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Confirming } from '../kit/suites/outbox/confirming.ts'
import { server } from '../kit/servers/server.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from './support.ts'

const PASSWORD = 's3cret'

describeMariadb('a user without rights', () => {
  let place: MysqlPlace
  let user: string
  let pools: Pool[]

  beforeEach(async () => {
    place = await newMysqlPlace()
    user = uniqueName('weak').slice(0, 30)
    pools = []
    await place.pool.query(`create user '${user}'@'%' identified by '${PASSWORD}'`)
  })
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end().catch(() => {})))
    await place.pool.query(`drop user '${user}'@'%'`)
    await place.close()
  })

  async function weak({ password = PASSWORD, database = place.database } = {}): Promise<Pool> {
    const uri = new URL((await server('mariadb')).url)
    uri.username = user
    uri.password = password
    uri.pathname = ''
    const pool = createPool({ uri: uri.href, database, connectionLimit: 3 })
    pools.push(pool)
    return pool
  }

  const grant = (what: string): Promise<unknown> =>
    place.pool.query(`grant ${what} on ${place.database}.* to '${user}'@'%'`)

  /** On a new pool: a right on a database counts for connections that are made after the GRANT. */
  const found = async (options: Pick<MysqlOutboxOptions, 'publishers' | 'relay'>): Promise<readonly string[]> => {
    const findings = await mysqlOutbox({ pool: await weak(), ...options }).checkup()
    return findings.map(({ check, verdict, found: told }) => `${verdict} ${check}: ${told}`)
  }
  const revoke = (what: string): Promise<unknown> =>
    place.pool.query(`revoke ${what} on ${place.database}.* from '${user}'@'%'`)

  it.each([
    ['inbox', mysqlInbox],
    ['lease', mysqlLease],
  ] as const)(
    'is told at the start of a store (%s) what to grant, and starts when it is granted',
    async (_name, storeOf) => {
      await (await place.newInbox()).open()
      await storeOf({ pool: place.newPool() }).open()
      // A right on a database counts for connections that are made after the GRANT.
      const open = async (): Promise<unknown> => storeOf({ pool: await weak(), setup: 'check' }).open()
      await expect(open()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(
          `GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON \`${place.database}\`.* TO '${user}'@`,
        ),
      })
      await grant('select')
      await expect(open()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`grant select, insert, update, delete on \`${place.database}\`.*`),
      })
      await grant('select, insert, update, delete')
      await open()
    },
  )

  it('is told by doctor that the outbox has no table yet, and what rights it lacks', async () => {
    const publishers = { kafka: new Confirming() }
    await grant('select, insert, update, delete')
    expect(await found({ publishers })).toEqual([`weaker outbox.table: no outbox in ${place.database}`])
    const unopened = mysqlOutbox({ pool: await weak(), publishers })
    expect([await unopened.backlog(), await unopened.refused(), await unopened.redrive(['1'])]).toEqual([[], [], 0])
    await (await place.newInbox()).open()
    const fine = ['holds outbox.rights: a message was written, and rolled back', 'holds outbox.backlog: nothing is parked, refused or late'] // prettier-ignore
    expect(await found({ publishers })).toEqual(fine)
    await revoke('update, delete')
    expect(await found({ publishers })).toEqual(['broken outbox.rights: no message can be published', fine[1]])
    expect(await found({ relay: false })).toEqual(fine)
    await revoke('insert')
    expect(await found({ relay: false })).toEqual(['broken outbox.rights: no message can be written', fine[1]])
  })

  it('is told of a database that is not there', async () => {
    await place.pool.query(`grant all on *.* to '${user}'@'%'`)
    const database = uniqueName('none')
    await expect(mysqlInbox({ pool: await weak({ database }) }).open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        new RegExp(`${database}.*There is no such database: correct its name in the URL, or create it`),
      ),
    })
  })

  it('is told of a refused login, without a password', async () => {
    const failed: unknown = await mysqlInbox({ pool: await weak({ password: 'wr0ng' }) })
      .open()
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(String(failed)).toContain('(using password: YES)')
    expect(String(failed)).toContain('The server refuses this user: correct the user and the password in the URL')
    expect(String(failed)).not.toMatch(/s3cret|wr0ng/)
  })
})
