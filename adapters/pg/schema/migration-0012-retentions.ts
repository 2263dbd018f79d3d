import type { Migration } from './migration.ts'

/**
 * For leases, whose records end by themselves: for each retention (ms) when claims were made with it at the latest (ms
 * since 1970). Earlier code does not write it.
 */
export const retentionsMigration: Migration = {
  version: 12,
  name: 'retentions',
  breaking: false,
  sql: ({ scope }) => `
alter table ${scope} add column retentions jsonb;`,
}
