import { addColumns } from './add-columns.ts'
import type { Migration } from './migration.ts'

/**
 * Attempts of a message without a record keep its payload digest, the end of its backoff and its cause. Records that
 * were set aside keep their attempts and cause. Earlier code neither reads nor writes them.
 */
export const inboxStoryMigration: Migration = {
  version: 4,
  name: 'inbox-story',
  breaking: false,
  statements: (tables) => [
    ...addColumns(tables, 'attempt', { fp: 'binary(16)', not_before: 'datetime(6)', cause: 'text' }),
    ...addColumns(tables, 'inbox', { attempt: 'int unsigned', cause: 'text' }),
  ],
}
