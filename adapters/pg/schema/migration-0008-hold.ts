import type { Migration } from './migration.ts'

/**
 * `last_timestamp`: the broker's timestamp of the message at `last_offset`. It is valid only if that is right before
 * `next_offset`, because code without this migration moves `next_offset` alone. `held`: why nothing of the stream may
 * be handled.
 */
export const holdMigration: Migration = {
  version: 8,
  name: 'hold',
  breaking: false,
  sql: ({ position }) => `
alter table ${position} add column last_offset bigint, add column last_timestamp bigint,
  add column held_since timestamptz, add column held text;`,
}
