import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Pool, type PoolConfig } from 'pg'
import { postgresInbox, postgresLease, postgresOffsets, type PostgresInboxOptions } from '../../adapters/pg/index.ts'
import type { CheckFinding } from '../../src/index.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { placeOf } from '../../test/kit/servers/debian/place.ts'
import { newFolder } from '../../test/kit/servers/private-instance.ts'
import { killTree } from '../../test/kit/servers/process-tree.ts'
import { needInstalled } from '../../test/kit/servers/programs.ts'
import { unprivilegedUser } from '../../test/kit/servers/unprivileged-user.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { granting } from '../../test/pg/fake-pool.ts'
import { newItem } from '../../testing/contract/store/claims.ts'
import { codeOf, describePostgres, newPlace } from '../../test/pg/support.ts'

type Options = Partial<PostgresInboxOptions>

describePostgres('checkup of postgresInbox', () => {
  let server: Awaited<ReturnType<typeof startPrivatePostgres>>
  let admin: Pool
  let pools: Pool[]
  beforeAllOpen(async (own) => (server = own(await startPrivatePostgres())))
  beforeEach(() => {
    admin = new Pool({ connectionString: server.url, max: 2 })
    pools = [admin]
    for (const pool of pools) pool.on('error', () => {})
  })
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })

  const look = async (check: string, config: PoolConfig = {}, options: Options = {}): Promise<CheckFinding[]> => {
    const pool = new Pool({ connectionString: server.url, max: 3, ...config })
    pools.push(pool)
    const findings = (await postgresInbox({ pool, ...options }).checkup?.()) ?? []
    for (const { verdict, meaning } of findings) expect(meaning === '').toBe(verdict === 'holds')
    return findings.filter((finding) => finding.check === `postgres.${check}`)
  }
  const reloaded = async (name: string, isSo: (setting: string | undefined) => boolean): Promise<void> => {
    await admin.query('select pg_reload_conf()')
    for (let tries = 0; tries < 500; tries++) {
      const { rows } = await admin.query('select setting from pg_settings where name = $1', [name])
      if (isSo((rows as { setting: string }[])[0]?.setting)) return
      await admin.query('select pg_sleep(0.01)')
    }
    throw new Error(`expected ${name} to have changed by now`)
  }
  /** Sets it for the whole server, and takes it back after. */
  const withSetting = async (name: string, value: string, during: () => Promise<void>): Promise<void> => {
    await admin.query(`alter system set ${name} = ${value}`)
    await reloaded(name, (setting) => setting === value)
    try {
      await during()
    } finally {
      await admin.query(`alter system reset ${name}`)
      await reloaded(name, (setting) => setting !== value)
    }
  }

  it.each([
    ['full_page_writes', 'off', 'weaker'],
    ['autovacuum', 'off', 'weaker'],
  ])('finds %s = %s', async (name, value, verdict) => {
    expect(await look(name)).toMatchObject([{ verdict: 'holds' }])
    await withSetting(name, value, async () => {
      expect(await look(name)).toMatchObject([{ verdict, found: `${name} ${value}` }])
    })
  })

  it('finds fsync = off, as private servers of tests have it', async () => {
    expect(await look('fsync')).toMatchObject([{ verdict: 'broken', found: 'fsync off' }])
  })

  it('says what marks are committed with where a server, a database or a role asks for less', async () => {
    await admin.query(`create role sloppy login; alter role sloppy set synchronous_commit = off;
      alter role sloppy set default_transaction_isolation = 'repeatable read';
      alter role sloppy set default_transaction_read_only = on`)
    const sloppy = { connectionString: server.url.replace('postgres@', 'sloppy@') }
    expect(await look('synchronous_commit', sloppy)).toMatchObject([
      { verdict: 'holds', found: 'synchronous_commit off; marks are committed with on' },
    ])
    expect(await look('isolation', sloppy)).toMatchObject([{ found: expect.stringContaining('repeatable read') }])
    expect(await look('writable', sloppy)).toMatchObject([{ verdict: 'broken' }])
  })

  it('finds a replica', async () => {
    const signal = join(server.dataFolder, 'standby.signal')
    expect(await look('primary')).toMatchObject([{ verdict: 'holds' }])
    await writeFile(signal, '')
    await server.restart()
    expect(await look('primary')).toMatchObject([{ verdict: 'broken', found: 'pg_is_in_recovery true' }])
    await rm(signal)
    await server.restart()
    expect(await look('primary')).toMatchObject([{ verdict: 'holds' }])
  }, 60_000)

  it('finds a standby that is not waited for, one that is, and one that is missed', async () => {
    expect(await look('replication')).toMatchObject([{ verdict: 'holds' }])
    const standby = await startStandby(server.url)
    try {
      await standbys(admin, `state = 'streaming'`)
      expect(await look('replication')).toMatchObject([
        { verdict: 'weaker', found: expect.stringMatching(/1 standbys, 0/) },
      ])
      await admin.query('create role worker login')
      const worker = { connectionString: server.url.replace('postgres@', 'worker@') }
      expect(await look('replication', worker)).toMatchObject([{ verdict: 'unknown' }])
      await withSetting('synchronous_standby_names', 'pg_receivewal', async () => {
        await standbys(admin, `sync_state = 'sync'`) // The process that sends to it reads the setting in its own time.
        expect(await look('replication')).toMatchObject([
          { verdict: 'holds', found: expect.stringMatching(/1 synchronous/) },
        ])
        await standby.stop()
        const waiting = await look('replication')
        expect(waiting).toMatchObject([{ verdict: 'weaker', meaning: expect.stringContaining('wait') }])
        // The settings of the role would make it wait for ever.
        await admin.query('set synchronous_commit = local')
      })
    } finally {
      await standby.stop()
    }
  }, 60_000)

  it('finds tables that a crash empties, or that are not cleaned', async () => {
    const pool = new Pool({ connectionString: server.url, max: 3 })
    pools.push(pool)
    await postgresInbox({ pool, schema: 'tables' }).open()
    expect(await look('tables', {}, { schema: 'tables' })).toEqual([])
    await admin.query(
      `alter table tables.inbox set unlogged; alter table tables.attempt set (autovacuum_enabled = false)`,
    )
    expect(await look('tables', {}, { schema: 'tables' })).toMatchObject([
      { verdict: 'weaker', found: 'attempt has autovacuum_enabled false' },
      { verdict: 'broken', found: 'inbox is unlogged' },
    ])
  })

  it('finds an encoding that has not all characters', async () => {
    await admin.query(`create database latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`)
    const latin = { connectionString: server.url.replace(/\/postgres$/, '/latin') }
    expect(await look('encoding', latin)).toMatchObject([{ verdict: 'weaker', found: 'server_encoding LATIN1' }])
  })

  it('answers unknown for settings that the role may not read', async () => {
    await admin.query('revoke select on pg_stat_replication, pg_class from public; create role blind login')
    const blind = { connectionString: server.url.replace('postgres@', 'blind@') }
    const refused = { verdict: 'unknown', found: 'the server answered 42501' }
    expect(await look('replication', blind)).toMatchObject([refused])
    expect(await look('tables', blind)).toMatchObject([refused])
    await admin.query('grant select on pg_stat_replication, pg_class to public')
  })
})

describePostgres('checkup of stores on Postgres', () => {
  it('changes nothing, before and after they are opened', async () => {
    const place = await newPlace()
    const pool = place.newPool()
    const store = postgresOffsets({ pool, schema: place.schema })
    expect(await store.checkup?.()).toContainEqual(
      expect.objectContaining({ check: 'postgres.pooler', verdict: 'holds' }),
    )
    const { rows } = await place.pool.query(`select relname from pg_class where relnamespace = $1::regnamespace`, [
      place.schema,
    ])
    expect(rows).toEqual([{ relname: 'effect' }])
    await place.close()
  })

  it('warns a lease store that messages with lost marks run again', async () => {
    const server = await startPrivatePostgres()
    const pool = new Pool({ connectionString: server.url, max: 2 })
    const findings = await postgresLease({ pool }).checkup?.()
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'postgres.fsync',
        verdict: 'weaker',
        meaning: expect.stringContaining('again'),
      }),
    )
    await pool.end()
    await server.stop()
  }, 60_000)

  it('rejects if the server cannot be reached', async () => {
    const pool = new Pool({ host: '127.0.0.1', port: 1, max: 2 })
    expect(await codeOf(postgresInbox({ pool }).checkup?.() ?? Promise.resolve())).toBe('STORE_UNREACHABLE')
    await pool.end()
  })
})

describe('checkup behind a pooler', () => {
  it.each([
    [7, 'commit', 'holds', 'no pooler'],
    [8, 'commit', 'holds', 'a pooler'],
    [8, 'flush-ticker', 'weaker', 'a pooler, with a flush ticker'],
    [undefined, 'commit', 'unknown', 'the client does not tell its backend'],
  ] as const)('was told backend %s with %s: %s', async (processID, durability, verdict, found) => {
    const { pool } = granting(newItem(), { 'pg_backend_pid() as pid': { rows: [{ pid: 7 }] } }, { max: 3, processID })
    const findings = await postgresInbox({ pool, durability }).checkup?.()
    expect(findings).toContainEqual(expect.objectContaining({ check: 'postgres.pooler', verdict, found }))
  })
})

/** Receives what a standby would; it is shown as one, and is waited for as one. */
async function startStandby(url: string): Promise<{ stop: () => Promise<void> }> {
  const { root, postgres } = await needInstalled('postgres')
  const user = await unprivilegedUser(root)
  const folder = newFolder('standby', user)
  // Its programs may be those of another Debian, as the server is.
  const place = placeOf(root, folder, user)
  const { hostname, port, username } = new URL(url)
  const where = ['-h', hostname, '-p', port, '-U', username, '-D', place.folder, '--no-loop', '--synchronous']
  const receiving = place.command(join(dirname(postgres), 'pg_receivewal'), ...where)
  const child = spawn(receiving.command, receiving.args, {
    cwd: folder,
    env: place.env,
    stdio: 'ignore',
    ...receiving.user,
  })
  const ended = once(child, 'exit')
  return {
    async stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await killTree(child.pid)
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function standbys(pool: Pool, as: string): Promise<void> {
  await eventually(async () => (await pool.query(`select 1 from pg_stat_replication where ${as}`)).rowCount === 1)
}
