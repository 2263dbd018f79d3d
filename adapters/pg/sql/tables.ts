/** Names of all tables, qualified and quoted. */
export interface Tables {
  /** The name itself, checked: fit for an identifier and for a literal. */
  readonly schema: string
  readonly inbox: string
  readonly attempt: string
  readonly position: string
  readonly lease: string
  readonly scope: string
  readonly audit: string
  readonly migration: string
}

export function tablesIn(schema: string): Tables {
  const table = (name: string): string => `"${schema}"."${name}"`
  return {
    schema,
    inbox: table('inbox'),
    attempt: table('attempt'),
    position: table('position'),
    lease: table('lease'),
    scope: table('scope'),
    audit: table('audit'),
    migration: table('migration'),
  }
}
