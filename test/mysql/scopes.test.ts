import { MIGRATIONS } from '../../adapters/mysql2/schema/migrations.ts'
import { createMigrationTable, recordMigration } from '../../adapters/mysql2/schema/migration-table.ts'
import { tablesIn } from '../../adapters/mysql2/statements/tables.ts'
import { describeScopes } from '../kit/suites/inbox-scopes.ts'
import { describeMariadb, newMysqlPlace } from './support.ts'

/** The one before rows of scopes said whose they are. */
const FORMER_VERSION = 1
const TABLES = /\b(scope|inbox|attempt|lease)\b(?=$| where| set| select)/g

describeMariadb('mysqlInbox', () => {
  describeScopes(async () => {
    const place = await newMysqlPlace()
    return {
      newInbox: () => place.newInbox(),
      async createFormer() {
        const tables = tablesIn(place.database)
        const steps = MIGRATIONS.filter(({ version }) => version <= FORMER_VERSION)
        await place.pool.query(createMigrationTable(tables))
        for (const migration of steps) {
          for (const statement of migration.statements(tables)) await place.pool.query(statement)
          await place.pool.query(recordMigration(tables, migration))
        }
      },
      run: (sql) => place.rows(sql.replaceAll(TABLES, 'consume_once_$1')),
      daysAgo: (days) => `utc_timestamp(6) - interval ${days} day`,
      close: place.close,
    }
  })
})
