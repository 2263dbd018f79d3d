/** Names of all tables, qualified and quoted. */
export interface Tables {
  /** The name itself, checked: fit for an identifier and for a literal. */
  readonly schema: string
  readonly inbox: string
  /** Of the inbox, by hash of the key; 0: none. Only migrations ask. */
  readonly inboxPartitions: number
  readonly attempt: string
  readonly position: string
  readonly lease: string
  readonly scope: string
  readonly audit: string
  readonly migration: string
}

export function tablesIn(schema: string, inboxPartitions = 0): Tables {
  const table = (name: string): string => `"${schema}"."${name}"`
  return {
    schema,
    inbox: table('inbox'),
    inboxPartitions,
    attempt: table('attempt'),
    position: table('position'),
    lease: table('lease'),
    scope: table('scope'),
    audit: table('audit'),
    migration: table('migration'),
  }
}
