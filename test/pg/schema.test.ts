import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  postgresMigrationSql,
  pgliteInbox,
  postgresInbox,
  postgresLease,
  postgresMigrations,
  postgresOffsets,
} from '../../adapters/pg/index.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../kit/namespace.ts'
import { fakePool } from './fake-pool.ts'
import { describePostgres, newPlace, type PgPlace } from './support.ts'

const ALL = [
  { version: 1, name: 'initial' },
  { version: 2, name: 'outbox' },
]

describePostgres('the schema of postgresInbox', () => {
  let place: PgPlace
  let schema: string
  beforeEach(async () => {
    place = await newPlace()
    schema = uniqueName('fresh')
  })
  afterEach(async () => {
    await place.pool.query(`drop schema if exists ${schema} cascade`)
    await place.close()
  })

  const versions = async (): Promise<unknown[]> =>
    (await place.pool.query(`select version, name from ${schema}.migration order by version`)).rows

  it('is made once when ten processes open it at once', async () => {
    const inboxes = Array.from({ length: 10 }, () => postgresInbox({ pool: place.newPool(), schema }))
    await Promise.all(inboxes.flatMap((inbox) => [inbox.open(), inbox.open()]))
    expect(await versions()).toEqual(ALL)
    for (const inbox of inboxes) await inbox.mark([(await hold(inbox, newItem())).claim])
  })

  it('takes a name as long as Postgres has them', async () => {
    const long = `${schema}_`.padEnd(63, 'x')
    try {
      const inbox = postgresInbox({ pool: place.newPool(), schema: long })
      await inbox.open()
      expect(await inbox.mark([(await hold(inbox, newItem())).claim])).toEqual(['marked'])
      const { rows } = await place.pool.query('select to_regclass($1) is not null as is_there', [`${long}.inbox`])
      expect(rows).toEqual([{ is_there: true }])
    } finally {
      await place.pool.query(`drop schema if exists ${long} cascade`)
    }
  })

  it('holds everything that is made', async () => {
    const pool = place.newPool({ options: `-c search_path=${place.schema}` })
    await postgresInbox({ pool, schema }).open()
    const tables = `select c.relname as name from pg_class c where c.relkind = 'r' and c.relnamespace = $1::regnamespace order by 1`
    const [here, there] = [await pool.query(tables, [schema]), await pool.query(tables, [place.schema])]
    expect(here.rows).toEqual(
      [
        'attempt',
        'audit',
        'begun',
        'claim',
        'inbox',
        'lease',
        'migration',
        'outbox',
        'position',
        'replay',
        'scope',
      ].map((name) => ({
        name,
      })),
    )
    expect(there.rows).toEqual([{ name: 'effect' }])
  })

  it('is only checked where setup is check, and can be made by a DBA before', async () => {
    const verify = (): Promise<void> => postgresInbox({ pool: place.newPool(), schema, setup: 'check' }).open()
    await expect(verify()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`postgresMigrationSql({ schema: '${schema}' })`),
    })
    await place.pool.query(postgresMigrationSql({ schema }))
    await verify()
    expect(await versions()).toEqual(ALL)
  })

  it('is opened by a role that may not create anything, once it is there', async () => {
    const role = uniqueName('worker')
    await postgresInbox({ pool: place.newPool(), schema }).open()
    await place.pool.query(`create role ${role}; grant usage on schema ${schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
    const pool = place.newPool({ options: `-c role=${role}` })
    try {
      const inbox = postgresInbox({ pool, schema })
      await inbox.open()
      expect(await inbox.mark([(await hold(inbox, newItem())).claim])).toEqual(['marked'])
    } finally {
      await place.pool.query(`drop owned by ${role}; drop role ${role}`)
    }
  })

  it('is refused where a migration of newer code says that this code must not run on it', async () => {
    await postgresInbox({ pool: place.newPool(), schema }).open()
    await place.pool.query(`insert into ${schema}.migration (version, name, breaking) values (90, 'later', false)`)
    await postgresInbox({ pool: place.newPool(), schema }).open()
    await place.pool.query(`insert into ${schema}.migration (version, name, breaking) values (91, 'change', true)`)
    await expect(postgresInbox({ pool: place.newPool(), schema }).open()).rejects.toThrow('update consume-once')
  })

  it.each([
    ['inbox', 'alter table SCHEMA.inbox drop constraint inbox_pkey', 'inbox: .* \\(key, scope\\)'],
    ['attempt', 'alter table SCHEMA.attempt drop constraint attempt_pkey', 'attempt: .* \\(key, scope\\)'],
    ['claim', 'alter table SCHEMA.claim drop constraint claim_pkey', 'claim: .* \\(scope, token\\)'],
    ['lease', 'alter table SCHEMA.lease drop constraint lease_pkey', 'lease: .* \\(key, scope\\)'],
    ['position', 'alter table SCHEMA.position drop constraint position_pkey', 'position: .* \\(scope, stream\\)'],
    ['scope', 'alter table SCHEMA.scope drop constraint scope_name_key', 'scope: .* \\(name\\)'],
    [
      'inbox, with one of more columns',
      'alter table SCHEMA.inbox drop constraint inbox_pkey, add unique (scope, key, done_at)',
      'inbox: .* \\(key, scope\\)',
    ],
    [
      'inbox, with one of a part of its rows',
      `alter table SCHEMA.inbox drop constraint inbox_pkey;
       create unique index on SCHEMA.inbox (scope, key) where outcome = 'd'`,
      'inbox: .* \\(key, scope\\)',
    ],
    ['lease, the table itself', 'drop table SCHEMA.lease', 'lease: .* no table'],
  ])('is refused by every store without the unique index of %s', async (_, sql, problem) => {
    await postgresInbox({ pool: place.newPool(), schema }).open()
    await place.pool.query(sql.replaceAll('SCHEMA', schema))
    expect(await told()).toEqual(refusing(problem))
  })

  it('is refused with a unique index that was not built to its end, and taken with another that was', async () => {
    await postgresInbox({ pool: place.newPool(), schema }).open()
    await place.pool.query(`alter table ${schema}.inbox drop constraint inbox_pkey;
      insert into ${schema}.inbox (scope, key) values (1, '0123456789abcdef'), (1, '0123456789abcdef')`)
    const building = `create unique index concurrently restored on ${schema}.inbox (key, scope)`
    await expect(place.pool.query(building)).rejects.toThrow('could not create unique index')
    expect(await told()).toEqual(refusing('inbox: .* \\(key, scope\\)'))
    await place.pool.query(`drop index ${schema}.restored; truncate ${schema}.inbox`)
    await place.pool.query(building)
    expect((await told()).slice(0, 4)).toEqual(Array.from({ length: 4 }, () => 'opened'))
  })

  /** What each who looks at the schema says. */
  const told = async (): Promise<readonly string[]> => {
    const pool = place.newPool()
    const stores = [
      postgresInbox({ pool, schema }),
      postgresInbox({ pool, schema, setup: 'check' }),
      postgresOffsets({ pool, schema, setup: 'check' }),
      postgresLease({ pool, schema, setup: 'check' }),
    ]
    const opened = await Promise.all(
      stores.map((store) =>
        store.open().then(
          () => 'opened',
          (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
        ),
      ),
    )
    const findings = (await stores[0]?.checkup?.()) ?? []
    const found = findings.filter(({ check }) => check === 'postgres.keys').map((one) => `${one.verdict}: ${one.found}`)
    const { drift } = await postgresMigrations({ pool, schema }).status()
    return [...opened, ...found, drift.length > 0 ? 'drift' : 'no drift']
  }
  it('is tried again by the next open after one that failed', async () => {
    const real = place.newPool()
    let isDown = true
    const pool = Object.assign(new EventEmitter(), {
      options: { max: 2 },
      connect: () => (isDown ? Promise.reject(new Error('down')) : real.connect()),
    })
    const inbox = postgresInbox({ pool, schema })
    await expect(inbox.open()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    isDown = false
    await inbox.open()
    expect(await versions()).toEqual(ALL)
  })

  it('gives each scope an ID of its own, however many processes register theirs at once', async () => {
    const inboxes = await Promise.all([1, 2, 3, 4].map(() => place.newInbox()))
    const names = Array.from({ length: 12 }, (_, index) => `group ${index}/'"consumer`)
    await Promise.all(
      inboxes.flatMap((inbox) =>
        names.map(async (scope) => {
          const request = { scope, token: 't', leaseMs: 1, retentionMs: 1, alone: true, items: [newItem()] }
          const [answer] = await inbox.claim(request)
          if (answer !== undefined && 'claim' in answer) await inbox.mark([answer.claim])
        }),
      ),
    )
    const { rows } = await place.pool.query(`select array_agg(name order by name) as names from ${place.schema}.scope`)
    expect(rows).toEqual([{ names: names.toSorted() }])
  })
})

describe('options of postgresInbox', () => {
  it.each(['', 'Upper', 'a-b', '1st', 'a.b', 'a"b', "a'b", 'pg_mine', 'x'.repeat(64), 'ключ'])(
    'refuses the schema %j',
    (schema) => {
      const { pool } = fakePool({})
      expect(() => postgresInbox({ pool, schema })).toThrow('schema: expected')
      expect(() => pgliteInbox({ pglite: {} as never, schema })).toThrow('schema: expected')
      expect(() => postgresMigrationSql({ schema })).toThrow('schema: expected')
    },
  )

  it('takes a name of 63 characters [T100]', () => {
    expect(postgresMigrationSql({ schema: 'x'.repeat(63) })).toContain(`"${'x'.repeat(63)}"."inbox"`)
  })

  it('tells all problems at once', () => {
    const { pool } = fakePool({}, 1)
    const options = { pool, schema: 'A', lockTimeoutMs: 0, queryTimeoutMs: 1.5, idleInTransactionTimeoutMs: -1 }
    const wrong = { ...options, statementTimeoutMs: Number.NaN, setup: 'never' as never }
    for (const name of ['schema', 'lockTimeoutMs', 'queryTimeoutMs', 'idleIn', 'statementTimeoutMs', 'setup']) {
      expect(() => postgresInbox(wrong)).toThrow(new RegExp(`postgresInbox: ${name}`))
    }
    expect(() => postgresInbox({ pool })).toThrow('pool: expected a pg Pool with max >= 2')
    expect(() => postgresInbox({ pool: fakePool({}).pool, lockTimeoutMs: 10_000 })).toThrow('less than queryTimeoutMs')
  })

  it.each([
    ['the primary', { in_recovery: true }],
    ['default_transaction_read_only', { read_only: true }],
    ['version 13', { version: 120_022 }],
  ])('refuses a server where it expected %s', async (expected, facts) => {
    const rows = [{ in_recovery: false, read_only: false, version: 150_000, fsync: true, ...facts }]
    const { pool } = fakePool({ pg_is_in_recovery: { rows } })
    const opening = postgresInbox({ pool }).open()
    await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(expected) })
  })
})

/** What `told` is then. */
function refusing(problem: string): readonly unknown[] {
  const refused = Array.from({ length: 4 }, () => `CONFIG_INVALID: [^]*${problem}`)
  // A table that is not there is nothing that `doctor` looks at.
  const ofDoctor = problem.endsWith('no table') ? [] : [`broken: ${problem}`]
  return [...[...refused, ...ofDoctor].map((pattern) => expect.stringMatching(pattern)), 'drift']
}
