import { join } from 'node:path'
import { findProgram, isRoot, needProgram, run, versionFolders } from './commands.ts'
import type { ServerName } from './catalogue.ts'
import { cachedJars, fetchJars } from './kafka/jars.ts'
import { rabbitPrograms, unpackRabbit, type RabbitPrograms } from './rabbitmq/programs.ts'
import { askedRabbitVersion, type RabbitVersion } from './rabbitmq/version.ts'

interface Programs {
  readonly redis: { readonly server: string }
  readonly postgres: { readonly initdb: string; readonly postgres: string }
  readonly rabbitmq: RabbitPrograms
  readonly kafka: { readonly java: string; readonly jars: string }
}

/** The local programs that make a server; throws with what is missing and where it was looked for. */
export function programs<N extends ServerName>(name: N): Programs[N] {
  return FIND[name]()
}

/** The same, installed first if they are missing and may be. */
export async function needInstalled<N extends ServerName>(name: N): Promise<Programs[N]> {
  return foundOrInstalled(
    () => programs(name),
    () => install(name),
  )
}

/** The same for RabbitMQ of one version; `undefined` is any. */
export async function needRabbit(version: RabbitVersion | undefined): Promise<RabbitPrograms> {
  return foundOrInstalled(
    () => rabbitPrograms(version),
    () => installRabbit(version),
  )
}

/**
 * By the system's package manager, where the tests run as root; Kafka, which no distribution packages, by Maven; a
 * RabbitMQ of another version than the system's into a folder of its own.
 */
export async function install(name: ServerName): Promise<void> {
  if (name === 'rabbitmq') return installRabbit(askedRabbitVersion())
  if (name !== 'kafka') return installPackages(PACKAGES[name])
  if (findProgram('java') === undefined) await installPackages(['default-jre-headless'])
  if (findProgram('mvn') === undefined) await installPackages(['maven'])
  await fetchJars(needProgram('mvn'))
}

const PACKAGES = { redis: ['redis-server'], postgres: ['postgresql'] } as const

const FIND: { readonly [N in ServerName]: () => Programs[N] } = {
  redis: () => ({ server: needProgram('redis-server') }),

  // Debian keeps the server programs out of PATH. Both must be of one version.
  postgres() {
    const initdb = needProgram('initdb', versionFolders('/usr/lib/postgresql', 'bin'))
    return { initdb, postgres: needProgram('postgres', [join(initdb, '..')]) }
  },

  rabbitmq: () => rabbitPrograms(askedRabbitVersion()),

  kafka: () => ({ java: needProgram('java'), jars: cachedJars() }),
}

async function foundOrInstalled<T>(find: () => T, fetch: () => Promise<void>): Promise<T> {
  try {
    return find()
  } catch (missing) {
    try {
      await fetch()
    } catch (cause) {
      throw new Error(`${(missing as Error).message}; ${(cause as Error).message}`, { cause })
    }
    return find()
  }
}

async function installRabbit(version: RabbitVersion | undefined): Promise<void> {
  await (version === undefined ? installPackages(['rabbitmq-server']) : unpackRabbit(version))
}

async function installPackages(packages: readonly string[]): Promise<void> {
  if (!isRoot()) throw new Error(`not root, so ${packages.join(', ')} was not installed`)
  const apt = needProgram('apt-get')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // Two workers may want packages at the same time: the later one waits for the lock.
  const settings = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=600', '-o', 'Acquire::Retries=3']
  await run(apt, [...settings, 'update'], { timeoutMs: 300_000, env })
  await run(apt, [...settings, '--no-install-recommends', 'install', ...packages], { timeoutMs: 900_000, env })
}
