import { askedKafkaVersion } from './kafka/version.ts'
import type { ServerName } from './catalogue.ts'

/**
 * By `variable` the tests are told on which version of a server to run, instead of on whatever is there. Each of `known` behaves
 * in its own way and is in some suite of Debian; of Kafka any release will do (kafka/version.ts).
 */
export const VERSIONS = {
  redis: { variable: 'CONSUME_ONCE_TEST_REDIS_VERSION', known: ['7.0', '8.0', 'valkey-9'] },
  postgres: { variable: 'CONSUME_ONCE_TEST_POSTGRES_VERSION', known: ['15', '18'] },
  mariadb: { variable: 'CONSUME_ONCE_TEST_MARIADB_VERSION', known: ['10.11', '11.8', 'mysql-9'] },
  rabbitmq: { variable: 'CONSUME_ONCE_TEST_RABBITMQ_VERSION', known: ['3.10', '4.0', '4.3'] },
} as const

export type Versioned = keyof typeof VERSIONS

export type VersionOf<N extends Versioned> = (typeof VERSIONS)[N]['known'][number]

/** The version that the environment asks for, `undefined` if any will do. @throws TypeError for one that cannot be started */
export function askedVersion<N extends Versioned>(name: N): VersionOf<N> | undefined {
  const { variable } = VERSIONS[name]
  const asked = process.env[variable]?.trim() ?? ''
  return asked === '' ? undefined : knownVersion(name, asked, `${variable}: `)
}

/** @throws TypeError for one that cannot be started */
export function knownVersion<N extends Versioned>(name: N, text: string, before = ''): VersionOf<N> {
  const known: readonly VersionOf<N>[] = VERSIONS[name].known
  const version = known.find((one) => one === text)
  if (version === undefined) throw new TypeError(`${before}expected one of ${known.join(', ')}, got ${text}`)
  return version
}

/** @throws TypeError for one that cannot be started */
export function isVersionAsked(name: ServerName): boolean {
  return (name === 'kafka' ? askedKafkaVersion() : askedVersion(name)) !== undefined
}
