import { ConfigError, describeError } from '../../src/internal.ts'
import { errorType } from './protocol-error.ts'

/** How both clients name it. The mechanism may be one that the brokers do not have. */
const REFUSED: ReadonlySet<string> = new Set([
  'KafkaJSSASLAuthenticationError',
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
])

/** `undefined` unless the brokers refused the login of the client, which another try does not change. */
export function refusedLogin(error: unknown): ConfigError | undefined {
  if (!REFUSED.has(errorType(error))) return undefined
  const problem = `Kafka refused the login of the client: ${describeError(error)}. Correct sasl of the client: its mechanism, user name and password`
  return new ConfigError([problem], 'CONFIG_INVALID', { cause: error })
}
