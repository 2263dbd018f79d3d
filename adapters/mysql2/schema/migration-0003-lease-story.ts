import { addColumns } from './add-columns.ts'
import type { Migration } from './migration.ts'

/**
 * `not_before`: end of the backoff of a released record. `since`: time of a set-aside or a mark. `cause`: why the last
 * attempt of a released or set-aside record failed. Earlier code neither reads nor writes them: it claims during a
 * backoff, and sets aside without these fields.
 */
export const leaseStoryMigration: Migration = {
  version: 3,
  name: 'lease-story',
  breaking: false,
  statements: (tables) =>
    addColumns(tables, 'lease', { not_before: 'datetime(6)', since: 'datetime(6)', cause: 'text' }),
}
