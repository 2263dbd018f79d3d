import { ConfigError } from '../../../src/internal.ts'

/** Columns without a unique index, as after a restore without constraints: two claims of one key would both succeed. */
export interface MissingKey {
  /** Table. */
  readonly name: string
  /** Separated by commas. */
  readonly columns: string
  /** The table exists; otherwise no index is missing yet. */
  readonly isThere: boolean
}

export function explainKey({ name, columns, isThere }: MissingKey): string {
  return isThere
    ? `${name}: expected a valid primary key or unique index on (${columns}), got none`
    : `${name}: expected a table with a unique (${columns}), got no table`
}

const RESTORE_KEY = 'Remove rows that are there twice, then add the key'
const RESTORE_TABLE =
  'Its migrations ran, so it was removed since: restore it with its rows. With an empty one, messages that were done run again'

/**
 * @param place - the schema or database
 * @throws ConfigError `CONFIG_INVALID` if there are any: a message could be claimed twice
 */
export function refuseMissingKeys(place: string, missing: readonly MissingKey[]): void {
  if (missing.length === 0) return
  throw new ConfigError(
    missing.map((key) => `table ${place}.${explainKey(key)}. ${key.isThere ? RESTORE_KEY : RESTORE_TABLE}`),
  )
}
