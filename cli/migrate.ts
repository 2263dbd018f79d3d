import { Argument, type Command } from 'commander'
import { mysqlMigrations } from '../adapters/mysql2/index.ts'
import { postgresMigrations } from '../adapters/pg/index.ts'
import { defineConfig, type Migrations, type MigrationStatus } from '../src/index.ts'
import { EXIT, misuse } from './exit.ts'
import { printJson, printText, say } from './output.ts'
import { addSessionOptions, runs, type End, type Session, type SessionFlags } from './session.ts'

interface MigrateFlags extends SessionFlags {
  readonly dryRun: boolean
  readonly schema?: string
}

const ADMIN_URL = 'CONSUME_ONCE_ADMIN_DATABASE_URL'

const EXAMPLES = `
Examples:
  consume-once migrate status               migrations that are applied, pending ones, and drift of the tables
  consume-once migrate up --dry-run         in a transaction that is rolled back; on MariaDB and MySQL, which cannot do that, only names them
  consume-once migrate up
  consume-once migrate print > schema.sql   for a DBA, to be run once on a database without the schema

Takes \`migrations\` of the config. ${ADMIN_URL} names the role that may create tables, in place
of the config's pool; with it, and for print, no config is needed: --schema names the schema (default: consume_once). On MariaDB and MySQL
(a URL that begins with mysql:) --schema is the database.
Exit code 0: up to date, or done. 1: something is to be run, or has drifted. 2: usage. 4: the database cannot be reached.`

/** Used if there is no config. */
const NONE = defineConfig({ consumers: [] })

export function addMigrate(program: Command, end: End): void {
  const command = program
    .command('migrate')
    .description('Shows the status of the tables of the stores, or migrates them (up).')
    .addArgument(new Argument('[action]', 'what to do').choices(['status', 'up', 'print']).default('status'))
    .option('--dry-run', 'with up: run it, and roll it back', false)
    .option('--schema <name>', 'only the tables in this schema, or database of MariaDB and MySQL')
  runs(addSessionOptions(command), end, EXAMPLES, migrate, { instead: NONE, check })
}

type Given = [action: 'up' | 'status' | 'print', flags: MigrateFlags]

function check(...[action, { dryRun }]: Given): void {
  if (dryRun && action !== 'up') throw misuse('--dry-run: only with up')
}

function migrate(session: Session, ...[action, flags]: Given): Promise<number> {
  return ACTIONS[action](session, chosen(session, action, flags), flags)
}

function chosen({ config }: Session, action: string, { schema }: MigrateFlags): readonly Migrations[] {
  const { migrations = [] } = config
  const url = process.env[ADMIN_URL]
  const wanted = migrations.filter(({ where }) => schema === undefined || where.endsWith(` ${schema}`))
  if (wanted.length > 0) return url === undefined ? wanted : wanted.map((one) => one.as?.(url) ?? one)
  if (url === undefined && action !== 'print') {
    throw misuse(
      `expected \`migrations: [postgresMigrations({ pool })]\` (or mysqlMigrations) in the config${schema === undefined ? '' : ` for schema ${schema}`}, or ${ADMIN_URL}`,
    )
  }
  // `print` needs no connection.
  if (url !== undefined && /^(?:mysql|mariadb):/.test(url)) {
    return [mysqlMigrations({ url, ...(schema === undefined ? {} : { database: schema }) })]
  }
  return [postgresMigrations({ url: url ?? '', ...(schema === undefined ? {} : { schema }) })]
}

type Action = (session: Session, migrations: readonly Migrations[], flags: MigrateFlags) => Promise<number>

const ACTIONS: Readonly<Record<'up' | 'status' | 'print', Action>> = { up, status, print }

/** No time limit: a migration may take long. */
async function up(
  session: Session,
  migrations: readonly Migrations[],
  { dryRun: isDryRun }: MigrateFlags,
): Promise<number> {
  const databases: { readonly where: string; readonly run: readonly string[] }[] = []
  for (const one of migrations) {
    const run = await one.up({ dryRun: isDryRun })
    databases.push({ where: one.where, run })
    if (session.isJson) continue
    const done = isDryRun ? 'would be applied' : 'applied'
    printText(run.length === 0 ? `${one.where}: up to date` : `${one.where}: ${done}: ${run.join(', ')}`)
  }
  if (session.isJson) printJson('migrate', { action: 'up', dry_run: isDryRun, databases })
  return EXIT.ok
}

async function status(session: Session, migrations: readonly Migrations[]): Promise<number> {
  const databases: ({ readonly where: string } & MigrationStatus)[] = []
  for (const one of migrations) databases.push({ where: one.where, ...(await session.answer(one.status())) })
  if (session.isJson) printJson('migrate', { action: 'status', databases })
  else printText(databases.map(statusText).join('\n'))
  const isSo = databases.every(({ pending, drift }) => pending.length === 0 && drift.length === 0)
  return isSo ? EXIT.ok : EXIT.findings
}

function statusText({ where, run, pending, drift, unknown }: { readonly where: string } & MigrationStatus): string {
  const lines = [
    ...run.map((one) => `  applied  ${one}`),
    ...pending.map((one) => `  pending  ${one}`),
    ...drift.map((one) => `  drift    ${one}`),
    ...(unknown === undefined ? [] : [`  unknown  ${unknown}`]),
  ]
  return [`${where}:`, ...lines].join('\n')
}

async function print(session: Session, migrations: readonly Migrations[]): Promise<number> {
  if (session.isJson) {
    printJson('migrate', {
      action: 'print',
      databases: migrations.map((one) => ({ where: one.where, sql: one.print() })),
    })
    return EXIT.ok
  }
  for (const one of migrations) {
    say(one.where)
    printText(one.print())
  }
  return EXIT.ok
}
