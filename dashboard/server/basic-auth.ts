import { ConfigError } from '../../src/foundation/errors.ts'
import { checkNames, checkOneOf, givenOf } from '../../src/foundation/option-checks.ts'
import { isEqual } from './guard.ts'
import type { Auth } from './options.ts'

export interface BasicAuthUser {
  /** Decisions in the audit have this name. */
  readonly user: string
  /** At least 8 characters. */
  readonly password: string
  /** This person may not change anything. @defaultValue false */
  readonly readOnly?: boolean
}

/** One user, or several: each person gets a name of its own in the audit. */
export type BasicAuthOptions = BasicAuthUser | { readonly users: readonly BasicAuthUser[] }

/**
 * Credentials that every browser asks for. Use it behind TLS only: they are sent as they are.
 *
 * @throws ConfigError `CONFIG_INVALID` if one of a pair is missing, or too short, or two users have one name
 */
export function basicAuth(options: BasicAuthOptions): Auth {
  const given = givenOf(options) as { readonly users?: unknown }
  const problems: string[] = []
  const { users } = given
  if (users === undefined) checkUser('', options as BasicAuthUser, problems)
  else {
    checkNames('', given, { of: 'basicAuth()', known: { users: true } }, problems)
    if (!Array.isArray(users) || users.length === 0) problems.push('users: expected [{ user, password }]')
    else for (const [at, one] of users.entries()) checkUser(`users[${at}].`, one as BasicAuthUser, problems)
  }
  const known = (Array.isArray(users) ? users : [options]) as readonly BasicAuthUser[]
  const names = known.map((one) => one?.user)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (problems.length === 0 && twice !== undefined) problems.push(`users: ${twice} is there twice`)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `basicAuth: ${problem}`))
  const people = known.map(({ user, password, readOnly = false }) => ({
    by: user,
    pair: `${user}:${password}`,
    readOnly,
  }))
  return (request) => {
    const [, encoded = ''] = /^basic\s+(.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
    const sent = Buffer.from(encoded, 'base64').toString('utf8')
    // All are compared: the time tells nothing about a name.
    const [person] = people.filter(({ pair }) => isEqual(sent, pair))
    if (person !== undefined) return { by: person.by, readOnly: person.readOnly }
    const headers = { 'www-authenticate': 'Basic realm="consume-once", charset="UTF-8"' }
    return new Response('credentials, please\n', { status: 401, headers })
  }
}

function checkUser(prefix: string, of: BasicAuthUser, problems: string[]): void {
  const given = givenOf(of)
  const { user, password, readOnly = false } = given
  checkNames(prefix, given, { of: 'basicAuth()', known: { user: true, password: true, readOnly: true } }, problems)
  if (typeof user !== 'string' || user === '' || user.includes(':')) {
    problems.push(`${prefix}user: expected a name without a colon`)
  }
  if (typeof password !== 'string' || password.length < 8) {
    problems.push(`${prefix}password has to have at least 8 characters`)
  }
  checkOneOf(`${prefix}readOnly`, readOnly, [true, false], problems)
}
