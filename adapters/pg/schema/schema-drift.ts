import { randomBytes } from 'node:crypto'
import type { MigrationRow } from '../../sql/schema/migrations.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PgSessions } from '../sessions/session.ts'
import { countInboxPartitions, describeSchema } from './describe-schema.ts'
import { createMigrationTable, createSchema, lockMigrations } from './migration-table.ts'
import { tablesIn, type Tables } from '../statements/tables.ts'

/**
 * Differences between the tables and the migrations that ran. It runs the migrations again, in another schema and a
 * transaction that is rolled back, and compares the two. Needs the right to create schemas.
 */
export async function schemaDrift(
  sessions: PgSessions,
  tables: Tables,
  run: readonly MigrationRow[],
): Promise<readonly string[]> {
  const [inbox] = await sessions.committed(countInboxPartitions(tables))
  const model = tablesIn(`drift_${randomBytes(8).toString('hex')}`, inbox?.partitions)
  const { session } = await sessions.begin(lockMigrations(model))
  try {
    await session.run(createSchema(model))
    await session.run(createMigrationTable(model))
    for (const { version, statements } of MIGRATIONS) {
      if (run.some((row) => row.version === version)) await session.run({ text: statements(model).join(';\n') })
    }
    const wanted = await session.run(describeSchema(model.schema))
    const there = await session.run(describeSchema(tables.schema))
    return differences(
      wanted.map(({ thing }) => unqualified(thing, model.schema)),
      there.map(({ thing }) => unqualified(thing, tables.schema)),
    )
  } finally {
    await session.rollback()
  }
}

function differences(wanted: readonly string[], there: readonly string[]): string[] {
  return [
    ...wanted.filter((thing) => !there.includes(thing)).map((thing) => `missing ${thing}`),
    ...there.filter((thing) => !wanted.includes(thing)).map((thing) => `unexpected ${thing}`),
  ]
}

function unqualified(thing: string, schema: string): string {
  return thing.replaceAll(`"${schema}".`, '').replaceAll(`${schema}.`, '')
}
