/** Creates and updates the tables of a store, on a person's command. */
export interface UpOptions {
  /** @defaultValue false */
  readonly dryRun?: boolean
}

export interface Migrations {
  /** Name for people: `Postgres, schema consume_once`. No secrets. */
  readonly where: string
  /** The same migrations under another role. Each call opens and closes its own connections. A URL of another kind of database changes nothing. */
  readonly as?: (url: string) => Migrations
  /** Changes nothing. */
  status(): Promise<MigrationStatus>
  /**
   * Runs the pending migrations and resolves with their names, in order. `dryRun` changes nothing: it runs them in one transaction and
   * rolls it back, or only names them where the server cannot undo DDL. Several processes may call it at once.
   */
  up(options?: UpOptions): Promise<readonly string[]>
  /** All migrations as plain SQL, for a database without the tables. */
  print(): string
}

export interface MigrationStatus {
  /** Migrations that ran, in order, such as `1 inbox`. */
  readonly run: readonly string[]
  readonly pending: readonly string[]
  /** Differences between the tables and the migrations that ran. */
  readonly drift: readonly string[]
  /** Why the tables could not be compared with the migrations. */
  readonly unknown?: string | undefined
}
