import { describeError } from '../../src/internal.ts'

const ON_TABLES = 'SELECT, INSERT, UPDATE, DELETE'
const TABLE_DENIED = new Set([1142, 1143, 1370])

/** What a person must do about an error of MariaDB or MySQL, by its number; `undefined` if it may pass by itself. */
export function advice(error: unknown): string | undefined {
  const { errno } = (error ?? {}) as { readonly errno?: unknown }
  const text = describeError(error)
  const [user = "'<user>'@'<host>'"] = /'[^']*'@'[^']*'/.exec(text) ?? []
  if (typeof errno === 'number' && TABLE_DENIED.has(errno)) {
    const [, right = ON_TABLES] = /^([A-Z][A-Z, ]*?) command denied/.exec(text) ?? []
    const [, table = '<database>.*'] =
      /for (?:table|column .* in table|routine) ((?:`[^`]+`\.)?`[^`]+`|'[^']+')/.exec(text) ?? []
    return `This user lacks a right. As an administrator: GRANT ${right} ON ${table.replaceAll("'", '`')} TO ${user}; all that the stores need is ${ON_TABLES} on the database, and CREATE, ALTER, INDEX for setup: 'auto'`
  }
  switch (errno) {
    case 1044: {
      const [, database = '<database>'] = /to database '([^']+)'/.exec(text) ?? []
      return `This user may not use the database. As an administrator: GRANT ${ON_TABLES}, CREATE, ALTER, INDEX ON \`${database}\`.* TO ${user}; without CREATE, ALTER and INDEX give the stores setup: 'check'`
    }
    case 1045:
      return 'The server refuses this user: correct the user and the password in the URL, or the host that the user may come from'
    case 1049:
      return 'There is no such database: correct its name in the URL, or create it: the stores make only tables'
    case 1227:
      return `This user lacks a global right, which the error names. As an administrator: GRANT it ON *.* TO ${user}`
    default:
      return undefined
  }
}
