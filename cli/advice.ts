const TABLES = 'The tables are missing, or older than this version: see `consume-once migrate status`'

const RIGHTS = 'This role lacks the right: CONSUME_ONCE_ADMIN_DATABASE_URL names another one for migrations'

/** Advice by SQLSTATE, or by the error code of MariaDB and MySQL, for errors that a retry cannot fix. */
const ADVICE: Readonly<Record<string, string>> = {
  '3F000': TABLES,
  '42P01': TABLES,
  '42703': TABLES,
  ER_NO_SUCH_TABLE: TABLES,
  ER_BAD_FIELD_ERROR: TABLES,
  ER_BAD_DB_ERROR: 'Create the database first: the tool makes only tables',
  ER_TABLEACCESS_DENIED_ERROR: RIGHTS,
  ER_DBACCESS_DENIED_ERROR: RIGHTS,
  '42501': RIGHTS,
}

/** What Redis calls it, in the text of an error. */
const OF_REDIS: readonly (readonly [RegExp, string])[] = [
  [/\bNOAUTH\b/, 'The server wants a password. Correct the address in the config'],
  [/\bWRONGPASS\b/, 'The server does not know this user, or not with this password. Correct the address in the config'],
  [/\bNOPERM\b/, 'Grant its user the rights that docs/redis.md lists (ACL SETUSER)'],
]

/** Advice for an error that a person must fix; `undefined` if it may pass on its own. */
export function adviceOn(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 8; depth++) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown }
    if (typeof code === 'string' && Object.hasOwn(ADVICE, code)) return ADVICE[code]
    at = cause
  }
  const text = error instanceof Error ? error.message : ''
  return OF_REDIS.find(([refusal]) => refusal.test(text))?.[1]
}
