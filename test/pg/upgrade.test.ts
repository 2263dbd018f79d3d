import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { MIGRATIONS } from '../../adapters/pg/schema/migrations.ts'
import { createMigrationTable, createSchema, recordMigration } from '../../adapters/pg/schema/migration-table.ts'
import { tablesIn } from '../../adapters/pg/statements/tables.ts'
import { claim, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { uniqueName } from '../kit/namespace.ts'
import { ALONE, bytesOf, describePostgres, newPlace, type PgPlace } from './support.ts'

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
    expect(await claim(inbox, done)).toMatchObject({ verdict: 'done' })
    expect(await claim(inbox, newItem({ key: done.key }))).toEqual({ verdict: 'conflict' })
    const { rows } = await place.pool.query(`select done_at from ${schema}.inbox where outcome = 'p'`)
    const since = (rows as { done_at: Date }[])[0]?.done_at.getTime()
    expect(await claim(inbox, parked)).toEqual({
      verdict: 'parked',
      reason: 'no luck',
      attempt: undefined,
      since,
      cause: undefined,
    })
    const again = await hold(inbox, tried, ALONE)
    expect(again.attempt).toBe(3)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
  })

  it('reads what a process of the version before has written beside it in the rolling upgrade', async () => {
    const inbox = await place.newInbox({ schema })
    const [tried, aside, done] = [newItem(), newItem(), newItem()]
    for (const item of [tried, aside, done]) {
      const how = { refund: false, doubt: false, delayMs: 60_000, cause: 'Error: no card' }
      await inbox.release([(await hold(inbox, item)).claim], how)
    }
    // It counts whatever it finds, holds nothing back, and forgets attempts with what it marks and sets aside.
    await place.pool.query(`insert into ${schema}.attempt as a (scope, key, owner, n)
        select 1, x, 'older', 1 from (values (${hex(tried)}::bytea), (${hex(aside)}), (${hex(done)})) as t (x)
        on conflict (scope, key) do update set n = a.n + 1, owner = excluded.owner;
      insert into ${schema}.inbox (scope, key, outcome, owner, reason) values (1, ${hex(aside)}, 'g', 'older', 'spent');
      insert into ${schema}.inbox (scope, key) values (1, ${hex(done)});
      delete from ${schema}.attempt where key in (${hex(aside)}, ${hex(done)})`)
    expect(await claim(inbox, aside)).toMatchObject({ verdict: 'given-up', reason: 'spent', attempt: undefined })
    expect(await claim(inbox, done)).toMatchObject({ verdict: 'done' })
    // The end of the backoff and the payload of the attempt before are still told.
    expect(await claim(inbox, tried, ALONE)).toMatchObject({ verdict: 'busy' })
    expect(await claim(inbox, newItem({ key: tried.key }), ALONE)).toEqual({ verdict: 'conflict' })
    await place.pool.query(`update ${schema}.attempt set not_before = now()`)
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

function hex({ key }: { readonly key: string }): string {
  return `'\\x${bytesOf(key)}'`
}
