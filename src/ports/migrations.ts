/** Brings the tables of a store up to date, by the hand of a person. */
export interface Migrations {
  /** For people: `Postgres, schema consume_once`. No secrets. */
  readonly where: string
  /** The same by another role, on connections that each question opens and closes. */
  readonly as?: (url: string) => Migrations
  /** Changes nothing. */
  status(): Promise<MigrationStatus>
  /** Resolves with what was run, in order. `isDryRun`: in one transaction that is rolled back. May be called at once by several. */
  up(options?: { readonly isDryRun?: boolean }): Promise<readonly string[]>
  /** All of it as plain SQL, for a database without the tables. */
  print(): string
}

export interface MigrationStatus {
  /** Such as `1 inbox`, in order. */
  readonly run: readonly string[]
  readonly pending: readonly string[]
  /** What is not as the migrations that were run have left it. */
  readonly drift: readonly string[]
  /** Why the tables could not be held against the migrations. */
  readonly unknown?: string | undefined
}
