import { addColumns } from './add-columns.ts'
import type { Migration } from './migration.ts'

/**
 * What is counted of a message without a record keeps its payload's digest, the end of its backoff and why it failed; what is set
 * aside keeps its attempts and why. Code before this neither reads nor writes them.
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
