import {
  flag,
  listOf,
  matching,
  needed,
  object,
  optionsOf,
  or,
  where,
  type Table,
} from '../../src/foundation/options.ts'
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
export type BasicAuthOptions = BasicAuthUser | Users

interface Users {
  readonly users: readonly BasicAuthUser[]
}

const USER: Table<BasicAuthUser> = {
  user: needed(matching('a name without a colon', /^[^:]+$/)),
  password: needed(
    where('at least 8 characters', (value) => typeof value === 'string' && value.length >= 8, {
      got: (value) => (typeof value === 'string' ? 'less' : typeof value),
    }),
  ),
  readOnly: or(false, flag()),
}

const USERS: Table<Users> = { users: needed(listOf(object(USER), { least: 1, what: 'users' })) }

function problemsOfUsers({ users }: Users, problems: string[]): void {
  const names = users.map(({ user }) => user)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) problems.push(`users: ${twice} is there twice`)
}

/**
 * Credentials that every browser asks for. Use it behind TLS only: they are sent as they are.
 *
 * @throws ConfigError `CONFIG_INVALID` if one of a pair is missing, or too short, or two users have one name
 */
export function basicAuth(options: BasicAuthOptions): Auth {
  const several = 'users' in (options ?? {})
  const known: readonly Required<BasicAuthUser>[] = several
    ? (optionsOf('basicAuth', USERS, options as Users, problemsOfUsers).users as readonly Required<BasicAuthUser>[])
    : [optionsOf('basicAuth', USER, options as BasicAuthUser)]
  const people = known.map(({ user, password, readOnly }) => ({
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
