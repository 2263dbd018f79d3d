import { addColumn } from './add-column.ts'
import type { Migration } from './migration.ts'

/**
 * For leases, whose records end by themselves: for each retention (ms) when claims were made with it at the latest (ms
 * since 1970), as JSON. Earlier code does not write it.
 */
export const retentionsMigration: Migration = {
  version: 6,
  name: 'retentions',
  breaking: false,
  statements: (tables) => addColumn(tables, tables.scope, 'retentions text character set ascii'),
}
