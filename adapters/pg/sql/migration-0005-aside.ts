import type { Migration } from './migration.ts'

/** What was set aside is listed for people, who must not wait for a look at everything that is done. */
export const asideMigration: Migration = {
  version: 5,
  name: 'aside',
  breaking: false,
  sql: ({ inbox }) => `create index inbox_aside on ${inbox} (scope, key) where outcome <> 'd';`,
}
