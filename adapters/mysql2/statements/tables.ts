/** Names of all tables, qualified and quoted, because a handler may `use` another database. */
export interface Tables {
  readonly database: string
  readonly inbox: string
  readonly attempt: string
  readonly lease: string
  readonly scope: string
  readonly audit: string
  readonly replay: string
  readonly migration: string
}

export function tablesIn(database: string): Tables {
  const table = (name: string): string => `\`${database}\`.\`consume_once_${name}\``
  return {
    database,
    inbox: table('inbox'),
    attempt: table('attempt'),
    lease: table('lease'),
    scope: table('scope'),
    audit: table('audit'),
    replay: table('replay'),
    migration: table('migration'),
  }
}
