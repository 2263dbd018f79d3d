import { addColumns } from './add-columns.ts'
import type { Migration } from './migration.ts'

/**
 * `keep_until`: the end of a record, and of the attempts of a message that never ended, from the retention of the claim
 * that wrote it. `null`: written by earlier code, which neither reads nor writes it, and purges by its own retention.
 */
export const ownEndMigration: Migration = {
  version: 7,
  name: 'own-end',
  breaking: false,
  statements: (tables) => [
    ...addColumns(tables, 'inbox', { keep_until: 'datetime(6)' }),
    ...addColumns(tables, 'attempt', { keep_until: 'datetime(6)' }),
  ],
}
