import type { Migration } from './migration.ts'

/** People list records that were set aside, and must not wait for a scan of all done records. */
export const asideMigration: Migration = {
  version: 5,
  name: 'aside',
  breaking: false,
  sql: ({ inbox }) => `create index inbox_aside on ${inbox} (scope, key) where outcome <> 'd';`,
}
