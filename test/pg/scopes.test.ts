import { expect, it } from '@jest/globals'
import { MIGRATIONS } from '../../adapters/pg/schema/migrations.ts'
import { createMigrationTable, recordMigration } from '../../adapters/pg/schema/migration-table.ts'
import { tablesIn } from '../../adapters/pg/statements/tables.ts'
import { newItem, newName, newToken } from '../../testing/contract/store/claims.ts'
import { describeScopes } from '../kit/suites/inbox-scopes.ts'
import { describePostgres, newPlace } from './support.ts'

/** The one before rows of scopes said whose they are. */
const FORMER_VERSION = 5
const TABLES = /\b(scope|inbox|attempt|lease|copied)\b(?=$| where| set| select| as)/g

describePostgres('postgresInbox', () => {
  describeScopes(async () => {
    const place = await newPlace()
    return {
      newInbox: () => place.newInbox(),
      async createFormer() {
        const tables = tablesIn(place.schema, 0)
        const steps = MIGRATIONS.filter(({ version }) => version <= FORMER_VERSION)
        const made = steps.map((migration) => `${migration.sql(tables)}\n${recordMigration(tables, migration).text}`)
        await place.pool.query([createMigrationTable(tables).text, ...made].join(';\n'))
      },
      run: async (sql) => (await place.pool.query(qualified(sql, place.schema))).rows as Record<string, unknown>[],
      daysAgo: (days) => `now() - interval '${days} days'`,
      close: place.close,
    }
  })
})

describePostgres('postgresOffsets', () => {
  it("starts from no position that may be another consumer's, until a person decides whose row it is", async () => {
    const place = await newPlace()
    try {
      const store = await place.newOffsets()
      const stream = newName()
      const item = { ...newItem(), position: { stream, offset: 0n, follows: undefined } }
      const asked = { token: newToken(), leaseMs: 60_000, retentionMs: 60_000, alone: false, items: [item] }
      const [answer] = await store.claim({ ...asked, scope: 'g/b/c' })
      if (answer === undefined || !('claim' in answer)) throw new Error('expected a claim')
      await store.mark([answer.claim])
      await place.pool.query(`update ${place.schema}.scope set shared = null`)
      const later = await place.newOffsets()
      await expect(later.positions?.next('g%2Fb/c', [stream])).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('docs/stores.md'),
      })
      await expect(later.claim({ ...asked, scope: 'g/b%2Fc' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
      await place.pool.query(`update ${place.schema}.scope set name = 'g%2Fb/c', shared = false`)
      expect((await later.positions?.next('g%2Fb/c', [stream]))?.get(stream)).toMatchObject({ next: 1n })
      expect(await later.positions?.next('g/b%2Fc', [stream])).toEqual(new Map())
    } finally {
      await place.close()
    }
  })
})

function qualified(sql: string, schema: string): string {
  return sql.replaceAll(TABLES, `${schema}.$1`)
}
