import { describeError } from '../../src/internal.ts'

const SETUP = "run the migrations by a role that may (consume-once migrate), and give the stores setup: 'check'"

/** What a person must do about an error of Postgres, by its SQLSTATE; `undefined` if it may pass by itself. */
export function advice(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  switch (code) {
    case '42501':
      return grantFor(describeError(error))
    case '28P01':
    case '28000':
      return 'The server refuses this user: correct the user and the password in the URL, or the line for it in pg_hba.conf'
    case '3D000':
      return 'There is no such database: correct its name in the URL, or create it'
    default:
      return undefined
  }
}

/** `permission denied for table records`, `must be owner of table records` */
function grantFor(text: string): string {
  const [, kind = '', name = ''] = /permission denied for (\w+) "?([^"\s]+)"?/.exec(text) ?? []
  const to = 'TO <role>'
  switch (kind) {
    case 'schema':
      return `This role lacks a right. As the owner: GRANT USAGE ON SCHEMA ${name} ${to}; to make tables too, GRANT USAGE, CREATE, or ${SETUP}`
    case 'database':
      return `This role may not create a schema. As the owner: GRANT CREATE ON DATABASE ${name} ${to}, or ${SETUP}`
    case 'table':
    case 'relation':
      return `This role lacks a right. As the owner: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA <schema of ${name}> ${to}`
    case 'sequence':
      return `This role lacks a right. As the owner: GRANT USAGE ON ALL SEQUENCES IN SCHEMA <schema of ${name}> ${to}`
    case 'function':
      return `This role lacks a right. As the owner: GRANT EXECUTE ON FUNCTION ${name} ${to}`
    default:
      return `This role lacks the right. Let the owner grant it, or ${SETUP}`
  }
}
