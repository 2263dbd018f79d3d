/** Tables with a row for each key of a scope. */
export type Keyed = 'inbox' | 'attempt' | 'lease'

/** Names of all tables, qualified and quoted, because a handler may `use` another database. */
export interface Tables {
  /** The unique index of scope and key, by table, quoted. It has another name than the primary key where a restore made it. */
  readonly indexes: Readonly<Record<Keyed, string>>
  readonly database: string
  readonly inbox: string
  readonly attempt: string
  readonly lease: string
  readonly scope: string
  readonly audit: string
  readonly replay: string
  readonly outbox: string
  readonly outboxLane: string
  readonly migration: string
}

export const PRIMARY = '`PRIMARY`'

export function tablesIn(database: string): Tables {
  const table = (name: string): string => `\`${database}\`.\`consume_once_${name}\``
  return {
    indexes: { inbox: PRIMARY, attempt: PRIMARY, lease: PRIMARY },
    database,
    inbox: table('inbox'),
    attempt: table('attempt'),
    lease: table('lease'),
    scope: table('scope'),
    audit: table('audit'),
    replay: table('replay'),
    outbox: table('outbox'),
    outboxLane: table('outbox_lane'),
    migration: table('migration'),
  }
}
