import type { Migration } from './migration.ts'

/**
 * Whether a scope has its row for itself. `null`, which is all that earlier versions write: the text of the row may be that of
 * two scopes.
 */
export const sharedScopeMigration: Migration = {
  version: 6,
  name: 'shared-scope',
  breaking: false,
  sql: ({ scope }) => `alter table ${scope} add column shared boolean;`,
}
