import { userInfo } from 'node:os'

export interface ServerAddresses {
  readonly redis: { readonly url: string }
  readonly postgres: { readonly url: string }
  readonly mariadb: { readonly url: string }
  readonly rabbitmq: { readonly url: string }
  readonly kafka: { readonly brokers: string[] }
}

export type ServerName = keyof ServerAddresses

export const SERVER_NAMES: readonly ServerName[] = ['redis', 'postgres', 'mariadb', 'rabbitmq', 'kafka']

/** An address as one string, as environment variables carry it: a URL, or Kafka's brokers joined by commas. */
export type Endpoint = string

interface ServerFacts {
  /** Names a server the tests must use instead of looking for one. */
  readonly testVariable: string
  /** Variable in which `with-servers.ts` gives the address to its command. */
  readonly variable: string
  /** Where a server of the developer's machine, or that of docker-compose.yml, is to be expected. */
  readonly usual: readonly Endpoint[]
}

export const CATALOGUE: Readonly<Record<ServerName, ServerFacts>> = {
  redis: {
    testVariable: 'CONSUME_ONCE_TEST_REDIS_URL',
    variable: 'REDIS_URL',
    usual: ['redis://127.0.0.1:6379'],
  },
  postgres: {
    testVariable: 'CONSUME_ONCE_TEST_POSTGRES_URL',
    variable: 'DATABASE_URL',
    usual: usualPostgres(),
  },
  mariadb: {
    testVariable: 'CONSUME_ONCE_TEST_MARIADB_URL',
    variable: 'MARIADB_URL',
    usual: ['mysql://root@127.0.0.1:3306/test'],
  },
  rabbitmq: {
    testVariable: 'CONSUME_ONCE_TEST_RABBITMQ_URL',
    variable: 'RABBITMQ_URL',
    usual: ['amqp://guest:guest@127.0.0.1:5672'],
  },
  kafka: {
    testVariable: 'CONSUME_ONCE_TEST_KAFKA_BROKERS',
    variable: 'KAFKA_BROKERS',
    usual: ['127.0.0.1:9092'],
  },
}

export function addressOf<N extends ServerName>(name: N, endpoint: Endpoint): ServerAddresses[N] {
  return ADDRESS_OF[name](endpoint)
}

const ADDRESS_OF: { readonly [N in ServerName]: (endpoint: Endpoint) => ServerAddresses[N] } = {
  redis: (url) => ({ url }),
  postgres: (url) => ({ url }),
  mariadb: (url) => ({ url }),
  rabbitmq: (url) => ({ url }),
  kafka: (brokers) => ({ brokers: brokers.split(',').map((broker) => broker.trim()) }),
}

/** A database named `test` is asked for first, since the tests leave schemas behind when they are killed. */
function usualPostgres(): readonly Endpoint[] {
  const self = encodeURIComponent(userInfo().username)
  const logins = [...new Set(['postgres', 'postgres:postgres', self])]
  const places = ['test', 'postgres'].flatMap((database) => logins.map((login) => ({ login, database })))
  return [...places, { login: self, database: self }].map(
    ({ login, database }) => `postgres://${login}@127.0.0.1:5432/${database}`,
  )
}
