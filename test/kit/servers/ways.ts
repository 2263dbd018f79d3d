import { answers, withoutPassword } from './answers.ts'
import { CATALOGUE, SERVER_NAMES, type Endpoint, type ServerName } from './catalogue.ts'
import { composeUp, needCompose } from './compose.ts'
import { startPrivateKafka } from './private-kafka.ts'
import { startPrivateMariadb } from './private-mariadb.ts'
import { startPrivatePostgres } from './private-postgres.ts'
import { startPrivateRabbit } from './private-rabbit.ts'
import { startPrivateRedis } from './private-redis.ts'
import { install, programs } from './programs.ts'
import { recordCompose } from './test-run.ts'
import { isVersionAsked } from './versions.ts'

// A server for the tests is the first that answers of five ways:
//
//   1. the one the environment names       if named it must answer: nothing else is tried
//   2. the usual port of this machine
//   3. docker compose, from docker-compose.yml
//   4. the programs installed on this machine, on a free port
//   5. the same, once the package manager (Kafka: Maven) has installed them
//
// What the last three start ends with the test run. Where the environment asks for a version (versions.ts), the second and
// the third are left out: what they lead to is of a version of its own. The fifth then unpacks the packages of another Debian
// (debian/unpack.ts), whatever is installed.

export interface Way {
  readonly title: string
  /** Resolves to a server that answers, or rejects with the reason why this way found none. */
  find(name: ServerName): Promise<Endpoint>
}

export interface FailedWay {
  readonly title: string
  readonly reason: string
}

export async function findServer(name: ServerName, ways: readonly Way[] = waysTo(name)): Promise<Endpoint> {
  const { testVariable } = CATALOGUE[name]
  const named = process.env[testVariable]?.trim() ?? ''
  if (named !== '') {
    return answers(name, named).then(
      () => named,
      (cause: unknown) => {
        throw new Error(`${testVariable} names ${withoutPassword(named)}, which does not answer: ${text(cause)}`, {
          cause,
        })
      },
    )
  }
  const failed: FailedWay[] = [{ title: 'the environment', reason: `${testVariable} is not set` }]
  for (const way of ways) {
    try {
      return await way.find(name)
    } catch (error) {
      failed.push({ title: way.title, reason: text(error) })
    }
  }
  throw new Error(describeFailure(name, failed))
}

export function describeFailure(name: ServerName, failed: readonly FailedWay[]): string {
  const lines = failed.map(
    ({ title, reason }, index) => `  ${index + 1}. ${title}: ${reason.replaceAll('\n', '\n     ')}`,
  )
  const narrow = SERVER_NAMES.filter((other) => other !== name).join(',')
  return [
    `No ${name} for the tests. Tried:`,
    ...lines,
    `Start one and name it in ${CATALOGUE[name].testVariable}, or leave it out by BACKENDS=memory,pglite,${narrow}.`,
  ].join('\n')
}

/** @throws TypeError for a version that cannot be started */
export function waysTo(name: ServerName): readonly Way[] {
  return isVersionAsked(name) ? STARTING_WAYS : WAYS
}

/** Servers started here have the requested version. */
const STARTING_WAYS: readonly Way[] = [
  {
    title: 'programs of this machine',
    find(name) {
      programs(name)
      return START[name]()
    },
  },
  {
    title: 'programs installed now',
    async find(name) {
      await install(name)
      programs(name)
      return START[name]()
    },
  },
]

export const WAYS: readonly Way[] = [
  { title: "this machine's usual port", find: atUsualPlace },
  {
    title: 'docker compose',
    async find(name) {
      await needCompose()
      recordCompose(name)
      await composeUp(name)
      return atUsualPlace(name)
    },
  },
  ...STARTING_WAYS,
]

/** Started and left running: they belong to the whole run and end with it. */
const START: Readonly<Record<ServerName, () => Promise<Endpoint>>> = {
  redis: async () => (await startPrivateRedis()).url,
  postgres: async () => (await startPrivatePostgres()).url,
  mariadb: async () => (await startPrivateMariadb()).url,
  rabbitmq: async () => (await startPrivateRabbit()).url,
  kafka: async () => (await startPrivateKafka()).brokers.join(','),
}

async function atUsualPlace(name: ServerName): Promise<Endpoint> {
  const reasons: string[] = []
  for (const endpoint of CATALOGUE[name].usual) {
    try {
      await answers(name, endpoint)
      return endpoint
    } catch (error) {
      reasons.push(`${withoutPassword(endpoint)}: ${text(error)}`)
    }
  }
  throw new Error(reasons.join('; '))
}

function text(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(text).join(', ')
  return error instanceof Error ? error.message : String(error)
}
