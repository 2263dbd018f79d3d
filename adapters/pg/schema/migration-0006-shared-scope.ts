import type { Migration } from './migration.ts'

/**
 * Whether a row belongs to one scope only. `null`, the only value of earlier versions: the text of the row may be that
 * of two scopes.
 */
export const sharedScopeMigration: Migration = {
  version: 6,
  name: 'shared-scope',
  breaking: false,
  sql: ({ scope }) => `alter table ${scope} add column shared boolean;`,
}
