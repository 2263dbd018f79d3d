import { ConfigError, optionsOf, type Migrations, type MigrationStatus } from '../../../src/internal.ts'
import { answered, type SqlErrors } from '../errors.ts'
import { UP } from '../options.ts'

/** One step of the tables. Versions are never reused, and a released step is never changed. */
export interface Migration<Tables> {
  readonly version: number
  readonly name: string
  /** Code that does not know this migration must not run on it. */
  readonly breaking: boolean
  /**
   * On Postgres they are one transaction. On MariaDB and MySQL each commits by itself and may be run again: a process may
   * die between two of them.
   */
  readonly statements: (tables: Tables) => readonly string[]
}

/** A migration that ran. */
export type MigrationRow = Pick<Migration<never>, 'version' | 'name' | 'breaking'>

/** The tables of one database. */
export interface Schema<Tables, Sessions> {
  /** In the order of their versions, without a gap. */
  readonly migrations: readonly Migration<Tables>[]
  /** `schema name`, for errors. */
  readonly place: string
  /** The call that returns the migrations as plain SQL. */
  readonly printedBy: string
  /** In order; none if no migration ever ran. */
  read(sessions: Sessions): Promise<readonly MigrationRow[]>
  /** Runs what is pending. Any number of processes may call it at once: each migration runs once. */
  run(sessions: Sessions): Promise<void>
}

/** The version of the last one. */
export function newestOf(migrations: readonly MigrationRow[]): number {
  return migrations.at(-1)?.version ?? 0
}

export function pendingOf<Tables>(
  migrations: readonly Migration<Tables>[],
  rows: readonly MigrationRow[],
): readonly Migration<Tables>[] {
  return migrations.filter(({ version }) => rows.every((row) => row.version !== version))
}

function titleOf({ version, name }: Pick<MigrationRow, 'version' | 'name'>): string {
  return `${version} ${name}`
}

/**
 * Brings the tables up to date, or only checks them. Any number of processes may call it at once.
 *
 * @throws ConfigError `CONFIG_INVALID` if the tables are out of date and may not be changed, or are too new for this code
 */
export async function bringUp<Sessions>(
  schema: Schema<never, Sessions>,
  sessions: Sessions,
  mode: 'auto' | 'check',
): Promise<void> {
  const { migrations, place, printedBy } = schema
  const newest = newestOf(migrations)
  const rows = await schema.read(sessions)
  const breaking = rows.findLast((row) => row.breaking && row.version > newest)
  if (breaking !== undefined) {
    const text = `${place}: expected no breaking migration after ${newest}, got ${breaking.version}: update consume-once`
    throw new ConfigError([text])
  }
  if (pendingOf(migrations, rows).length === 0) return
  if (mode === 'auto') return schema.run(sessions)
  const all = migrations.map(titleOf).join(', ')
  throw new ConfigError([
    `${place}: expected tables of consume-once of version ${newest} (${all}), got older ones or none. Run the SQL of ` +
      `${printedBy}, or open it once with setup: 'auto' in a role that may create tables`,
  ])
}

interface Managed<Tables, Sessions> {
  readonly schema: Schema<Tables, Sessions>
  readonly where: string
  readonly as: NonNullable<Migrations['as']>
  readonly errors: SqlErrors
  /** Lends sessions for one call. */
  using<T>(work: (sessions: Sessions) => Promise<T>): Promise<T>
  up(sessions: Sessions): Promise<void>
  /** Runs what is pending, and rolls it back. `undefined`: the server cannot do that. */
  readonly rehearse: ((sessions: Sessions) => Promise<void>) | undefined
  /** Differences between the tables and the migrations that ran, all of which are known. */
  drift(
    sessions: Sessions,
    rows: readonly MigrationRow[],
    isPending: boolean,
  ): Promise<Pick<MigrationStatus, 'drift' | 'unknown'>>
  print(): string
}

/** The migrations of one database, in the hands of a person. */
export function migrationsOf<Tables, Sessions>(managed: Managed<Tables, Sessions>): Migrations {
  const { schema, where, as, errors, rehearse } = managed
  const ask = <T>(work: (sessions: Sessions) => Promise<T>): Promise<T> =>
    answered(errors, 'migrations', () => managed.using(work))
  const { migrations } = schema
  return {
    where,
    as,
    status: () =>
      ask(async (sessions) => {
        const rows = await schema.read(sessions)
        const pending = pendingOf(migrations, rows)
        const status = { run: rows.map(titleOf), pending: pending.map(titleOf) }
        const drift = rows.flatMap((row) => strange(migrations, row))
        // Without knowing all migrations that ran, the expected tables are unknown.
        if (rows.length === 0 || drift.length > 0) return { ...status, drift }
        return { ...status, ...(await managed.drift(sessions, rows, pending.length > 0)) }
      }),
    up: async (how) => {
      const { dryRun: isDryRun } = optionsOf('up', UP, how)
      return ask(async (sessions) => {
        const before = await schema.read(sessions)
        if (isDryRun) await rehearse?.(sessions)
        else await managed.up(sessions)
        return pendingOf(migrations, before).map(titleOf)
      })
    },
    print: () => managed.print(),
  }
}

function strange(migrations: readonly MigrationRow[], { version, name, breaking }: MigrationRow): string[] {
  const known = migrations.find((migration) => migration.version === version)
  if (known === undefined) {
    const consequence = breaking ? ', and this code must not run on it: update consume-once' : ''
    return [`migration ${version} ${name}: not known to this code${consequence}`]
  }
  return known.name === name ? [] : [`migration ${version}: expected ${known.name}, got ${name}`]
}

/** Lends the pool of the user, or one that is opened for one call. */
export async function usingPool<Pool, T>(
  given: Pool | undefined,
  open: () => Promise<Pool & { end(): Promise<void> }>,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  if (given !== undefined) return work(given)
  const own = await open()
  try {
    return await work(own)
  } finally {
    await own.end()
  }
}

/** @throws ConfigError `CONFIG_INVALID` */
export function checkPoolOrUrl(of: string, { pool, url }: { readonly pool?: unknown; readonly url?: unknown }): void {
  if ((pool === undefined) === (url === undefined)) throw new ConfigError([`${of}: expected pool or url, and not both`])
}

export function notInstalled(name: string, cause: unknown): ConfigError {
  const problem = `${name} is not installed: run \`npm install ${name}\`, or give a pool`
  return new ConfigError([problem], 'CONFIG_INVALID', { cause })
}

export function isMysqlUrl(url: string): boolean {
  return /^(?:mysql|mariadb):/.test(url)
}
