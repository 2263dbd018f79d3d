import { findProgram, isRoot, needProgram, run } from './commands.ts'
import type { ServerName } from './catalogue.ts'
import { ownOrUnpacked, unpack, type Releases } from './debian/releases.ts'
import { kafkaJars } from './kafka/jars.ts'
import { MARIADB, type MariadbPrograms } from './mariadb/programs.ts'
import { cachedJars, fetchJars } from './maven.ts'
import { POSTGRES, type PostgresPrograms } from './postgres/programs.ts'
import { RABBITMQ, type RabbitPrograms } from './rabbitmq/programs.ts'
import { REDIS, type RedisPrograms } from './redis/programs.ts'
import { askedVersion, type Versioned, type VersionOf } from './versions.ts'

interface Programs {
  readonly redis: RedisPrograms
  readonly postgres: PostgresPrograms
  readonly mariadb: MariadbPrograms
  readonly rabbitmq: RabbitPrograms
  readonly kafka: { readonly java: string; readonly jars: string }
}

/** Kafka's is that of kafka/version.ts. */
type Version<N extends ServerName> = N extends Versioned ? VersionOf<N> : undefined

interface Source<P, V> {
  /** Throws with the missing programs and the searched places. */
  find(version: V | undefined): P
  install(version: V | undefined): Promise<void>
}

/** Local programs of a server of the requested version, or of any; throws with the missing programs. */
export function programs<N extends ServerName>(name: N): Programs[N] {
  return SOURCES[name].find(asked(name))
}

/**
 * Installs them: by the system's package manager, where the tests run as root; Kafka, which no distribution packages, by Maven;
 * where a version is asked for, from the Debian that has it, into a folder of its own.
 */
export async function install<N extends ServerName>(
  name: N,
  version: Version<N> | undefined = asked(name),
): Promise<void> {
  await SOURCES[name].install(version)
}

/** The local programs, installed first if they are missing and may be; of that version, if one is given. */
export async function needInstalled<N extends ServerName>(
  name: N,
  version: Version<N> | undefined = asked(name),
): Promise<Programs[N]> {
  const find = (): Programs[N] => SOURCES[name].find(version)
  try {
    return find()
  } catch (missing) {
    try {
      await install(name, version)
    } catch (cause) {
      throw new Error(`${(missing as Error).message}; ${(cause as Error).message}`, { cause })
    }
    return find()
  }
}

/** Installed first if it is missing and may be. */
export async function needJava(): Promise<string> {
  if (findProgram('java') === undefined) await installPackages(['default-jre-headless'])
  return needProgram('java')
}

/** As `needJava`. Only the program is used: what the package may have started stays on its own port. */
export async function needPgbouncer(): Promise<string> {
  if (findProgram('pgbouncer', SYSTEM_PROGRAMS) === undefined) await installPackages(['pgbouncer'])
  return needProgram('pgbouncer', SYSTEM_PROGRAMS)
}

/** As `needJava`: both are in one package of Debian. */
export async function needPrometheus(): Promise<{ readonly prometheus: string; readonly promtool: string }> {
  if (findProgram('promtool') === undefined) await installPackages(['prometheus'])
  return { prometheus: needProgram('prometheus'), promtool: needProgram('promtool') }
}

/** As `needJava`: the browser without a window, and a font that pictures of pages look the same with everywhere. */
export async function needChromium(): Promise<string> {
  const found = CHROMIUMS.map((name) => findProgram(name)).find((path) => path !== undefined)
  if (found !== undefined) return found
  await installPackages(['chromium-headless-shell', 'fonts-inter'])
  return needProgram('chromium-headless-shell')
}

const CHROMIUMS = ['chromium-headless-shell', 'chromium', 'google-chrome']

/** Debian has it there, and PATH of a user has not. */
const SYSTEM_PROGRAMS = ['/usr/sbin']

/** As `needJava`. */
export async function needMaven(): Promise<string> {
  if (findProgram('mvn') === undefined) await installPackages(['maven'])
  return needProgram('mvn')
}

const SOURCES: { readonly [N in ServerName]: Source<Programs[N], Version<N>> } = {
  redis: packaged(REDIS, ['redis-server']),
  postgres: packaged(POSTGRES, ['postgresql']),
  mariadb: packaged(MARIADB, ['mariadb-server']),
  rabbitmq: packaged(RABBITMQ, ['rabbitmq-server']),
  kafka: {
    find: () => ({ java: needProgram('java'), jars: cachedJars(kafkaJars()) }),
    async install() {
      await needJava()
      await fetchJars(await needMaven(), kafkaJars())
    },
  },
}

function packaged<V extends string, P>(releases: Releases<V, P>, packages: readonly string[]): Source<P, V> {
  return {
    find: (version) => ownOrUnpacked(releases, version),
    install: (version) => (version === undefined ? installPackages(packages) : unpack(releases, version)),
  }
}

function asked<N extends ServerName>(name: N): Version<N> | undefined {
  return (name === 'kafka' ? undefined : askedVersion(name)) as Version<N> | undefined
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
