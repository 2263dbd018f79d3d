import { addColumns } from './add-columns.ts'
import type { Migration } from './migration.ts'

/**
 * What a record tells: `not_before`, the end of a backoff, of what is released; `since` of what is set aside; `cause`, why the last
 * attempt failed, of both. Code before this neither reads nor writes them: it claims in a backoff, and sets aside without a story.
 */
export const leaseStoryMigration: Migration = {
  version: 3,
  name: 'lease-story',
  breaking: false,
  statements: (tables) =>
    addColumns(tables, 'lease', { not_before: 'datetime(6)', since: 'datetime(6)', cause: 'text' }),
}
