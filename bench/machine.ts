import { readFileSync } from 'node:fs'
import { cpus, totalmem, type as system } from 'node:os'
import { CATALOGUE, SERVER_NAMES, type Endpoint, type ServerName } from '../test/kit/servers/catalogue.ts'
import { kafkaVersion } from '../test/kit/servers/kafka/version.ts'
import { reportedVersion } from '../test/kit/servers/reported-version.ts'

export type Servers = Readonly<Partial<Record<ServerName, Endpoint>>>

/** Versions by the name of the package or server. */
export type Versions = Readonly<Record<string, string>>

export interface Machine {
  readonly node: string
  readonly system: string
  readonly processor: string
  readonly cores: number
  readonly memoryGb: number
  /** Versions of the packages, the servers and everything else that takes part. */
  readonly versions: Versions
}

export async function describeMachine(
  servers: Servers,
  packages: readonly string[],
  others: Versions = {},
): Promise<Machine> {
  const processors = cpus()
  return {
    node: process.version,
    system: system(),
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    versions: {
      ...Object.fromEntries(packages.map((name) => [name, versionOf(name)])),
      ...others,
      ...Object.fromEntries(await Promise.all(SERVER_NAMES.flatMap((name) => versionsOf(name, servers[name])))),
    },
  }
}

function versionOf(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** Product and version, where the server takes part. */
function versionsOf(name: ServerName, endpoint: Endpoint | undefined): readonly Promise<readonly [string, string]>[] {
  if (endpoint === undefined) return []
  return [name === 'kafka' ? kafkaAt(endpoint) : reported(name, endpoint)]
}

async function reported(name: Exclude<ServerName, 'kafka'>, endpoint: Endpoint): Promise<readonly [string, string]> {
  const [product = '', ...version] = (await reportedVersion(name, endpoint)).split(' ')
  return [product, version.join(' ')]
}

/** The Kafka protocol has no request for the version of a broker, so only a broker started here has a known version. */
async function kafkaAt(endpoint: Endpoint): Promise<readonly [string, string]> {
  const { variable, testVariable, usual } = CATALOGUE.kafka
  const isNamed = [variable, testVariable].some((name) => (process.env[name] ?? '') !== '')
  return ['Kafka', isNamed || usual.includes(endpoint) ? 'of unknown version' : kafkaVersion()]
}
