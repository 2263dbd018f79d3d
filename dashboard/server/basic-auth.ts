import { ConfigError } from '../../src/foundation/errors.ts'
import { checkNames, givenOf } from '../../src/foundation/option-checks.ts'
import { isEqual } from './guard.ts'
import type { Auth } from './options.ts'

export interface BasicAuthOptions {
  readonly user: string
  /** At least 8 characters. */
  readonly password: string
}

/**
 * Credentials that every browser asks for. Use it behind TLS only: they are sent as they are.
 *
 * @throws ConfigError `CONFIG_INVALID` if one of the pair is missing, or too short
 */
export function basicAuth(options: BasicAuthOptions): Auth {
  const given = givenOf(options)
  const { user, password } = given
  const problems: string[] = []
  checkNames('', given, { of: 'basicAuth()', known: { user, password } }, problems)
  if (typeof user !== 'string' || user === '' || user.includes(':')) {
    problems.push('user: expected a name without a colon')
  }
  if (typeof password !== 'string' || password.length < 8) problems.push('password: expected at least 8 characters')
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `basicAuth: ${problem}`))
  return (request) => {
    const [, encoded = ''] = /^basic\s+(.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
    const sent = Buffer.from(encoded, 'base64').toString('utf8')
    if (isEqual(sent, `${user}:${password}`)) return { by: user }
    const headers = { 'www-authenticate': 'Basic realm="consume-once", charset="UTF-8"' }
    return new Response('credentials, please\n', { status: 401, headers })
  }
}
