import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { MIGRATIONS } from '../../adapters/pg/migrations.ts'
import { createMigrationTable, createSchema, recordMigration } from '../../adapters/pg/sql/migration-table.ts'
import { tablesIn } from '../../adapters/pg/sql/tables.ts'
import { claim, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../support/namespace.ts'
import { ALONE, bytesOf, describePostgres, newPlace, type PgPlace } from './pg-support.ts'

describePostgres('a schema of an older version', () => {
  let place: PgPlace
  let schema: string
  beforeEach(async () => {
    place = await newPlace()
    schema = uniqueName('older')
  })
  afterEach(async () => {
    await place.pool.query(`drop schema if exists ${schema} cascade`)
    await place.close()
  })

  /** As `open()` of an older version has left it. */
  const createAt = async (version: number, partitions = 0): Promise<void> => {
    const tables = tablesIn(schema, partitions)
    const steps = MIGRATIONS.filter((migration) => migration.version <= version)
    const made = steps.map((migration) => `${migration.sql(tables)}\n${recordMigration(tables, migration).text}`)
    const text = [createSchema(tables).text, createMigrationTable(tables).text, ...made].join(';\n')
    await place.pool.query(text)
  }

  it.each([
    ['one table', 0],
    ['partitions', 3],
  ])('keeps what was done, set aside and tried in %s when it is brought up to date', async (_, partitions) => {
    await createAt(2, partitions)
    const [done, parked, tried] = [newItem(), newItem(), newItem()]
    await place.pool.query(`insert into ${schema}.scope (id, name) values (1, '${SCOPE}');
      insert into ${schema}.inbox (scope, key, fp) values (1, '\\x${bytesOf(done.key)}', '\\x${bytesOf(done.digest)}');
      insert into ${schema}.inbox (scope, key, outcome, owner, reason)
        values (1, '\\x${bytesOf(parked.key)}', 'p', 'somebody', 'no luck');
      insert into ${schema}.attempt (scope, key, n, owner) values (1, '\\x${bytesOf(tried.key)}', 2, 'somebody')`)
    const inbox = await place.newInbox({ schema })
    expect(await claim(inbox, done)).toEqual({ verdict: 'done' })
    expect(await claim(inbox, newItem({ key: done.key }))).toEqual({ verdict: 'conflict' })
    expect(await claim(inbox, parked)).toMatchObject({ verdict: 'parked', reason: 'no luck' })
    const again = await hold(inbox, tried, ALONE)
    expect(again.attempt).toBe(3)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
  })

  it('waits for transactions that use it, and keeps nobody waiting for longer than its own patience', async () => {
    await createAt(2)
    const older = await place.pool.connect()
    await older.query(`begin; insert into ${schema}.inbox (scope, key) values (1, '\\x${bytesOf(newItem().key)}')`)
    const opening = place.newInbox({ schema })
    await older.query('select pg_sleep(0.2)')
    await older.query('commit')
    older.release()
    const inbox = await opening
    expect(await inbox.mark([(await hold(inbox, newItem())).claim])).toEqual(['marked'])
  })
})
