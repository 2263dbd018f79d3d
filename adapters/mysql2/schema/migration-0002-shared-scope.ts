import { addColumn } from './add-column.ts'
import type { Migration } from './migration.ts'

/**
 * Whether a row belongs to one scope only. `null`, the only value of earlier versions: the text of the row may be that
 * of two scopes.
 */
export const sharedScopeMigration: Migration = {
  version: 2,
  name: 'shared-scope',
  breaking: false,
  statements: (tables) => addColumn(tables, tables.scope, 'shared boolean'),
}
