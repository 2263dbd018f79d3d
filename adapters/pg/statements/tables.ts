/** Names of all tables, qualified and quoted. */
export interface Tables {
  /** The name of the schema. It is checked, so it is safe in an identifier and in a literal. */
  readonly schema: string
  readonly inbox: string
  /** Number of hash partitions of the inbox; 0: none. Used by migrations only. */
  readonly inboxPartitions: number
  readonly claim: string
  readonly attempt: string
  readonly position: string
  readonly begun: string
  readonly lease: string
  readonly scope: string
  readonly audit: string
  readonly replay: string
  readonly outbox: string
  readonly migration: string
}

export function tablesIn(schema: string, inboxPartitions = 0): Tables {
  const table = (name: string): string => `"${schema}"."${name}"`
  return {
    schema,
    inbox: table('inbox'),
    inboxPartitions,
    claim: table('claim'),
    attempt: table('attempt'),
    position: table('position'),
    begun: table('begun'),
    lease: table('lease'),
    scope: table('scope'),
    audit: table('audit'),
    replay: table('replay'),
    outbox: table('outbox'),
    migration: table('migration'),
  }
}
