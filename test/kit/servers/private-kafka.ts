import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kafkaNodeJoined } from './answers.ts'
import { run } from './commands.ts'
import { brokerProperties, logging, saslUsers, type BrokerPlace } from './kafka/properties.ts'
import { kafkaVersion, loggersOf } from './kafka/version.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { needInstalled } from './programs.ts'
import { asOne, startTogether } from './together.ts'

export interface PrivateKafka extends PrivateInstance {
  readonly brokers: string[]
  /** The same, where a client needs a name and a password; empty without `users`. */
  readonly saslBrokers: string[]
  /** Each broker alone, `nodes[i]` being `brokers[i]` and node id i + 1; the methods of the whole act on all of them. */
  readonly nodes: readonly PrivateInstance[]
  /** Where each broker keeps its partitions, in folders of their own, until it is stopped. */
  readonly dataFolders: readonly string[]
}

const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qg'
const SMALL_JVM = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto', '-XX:-UsePerfData']
const JVM = ['-Xms64m', '-Xmx320m', ...SMALL_JVM, '-Djava.awt.headless=true']

/**
 * One broker, or three with every topic on all of them, of the version the environment asks for (kafka/version.ts).
 * `properties` are further ones of server.properties.
 * `users`: passwords by name, for a second address of each broker, with SASL PLAIN.
 */
export async function startPrivateKafka(
  options: {
    readonly brokers?: 1 | 3
    readonly properties?: Readonly<Record<string, string>>
    readonly users?: Readonly<Record<string, string>>
  } = {},
): Promise<PrivateKafka> {
  const { java, jars } = await needInstalled('kafka')
  const classpath = join(jars, '*')
  const cluster = await places(options.brokers ?? 1, options.users !== undefined)
  const more = { ...(options.users && saslUsers(options.users)), ...options.properties }

  const folders = cluster.map(({ id }) => newFolder(`kafka-${id}`))
  const startNode = async (place: BrokerPlace): Promise<PrivateInstance> => {
    const folder = folders[place.id - 1] as string
    const properties = join(folder, 'server.properties')
    const log = logging(loggersOf(kafkaVersion()), join(folder, 'log.properties'))
    mkdirSync(join(folder, 'data'))
    writeFileSync(properties, brokerProperties(place, cluster, folder, more))
    writeFileSync(join(folder, 'log.properties'), log.text)
    const jvm = [...JVM, log.option, '-cp', classpath]
    const format = ['kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties]
    await run(java, [...jvm, ...format], { timeoutMs: 60_000, cwd: folder })
    return startInstance({
      folder,
      command: java,
      args: [...jvm, 'kafka.Kafka', properties],
      answers: () => kafkaNodeJoined(addressOfBroker(place)),
      readyWithinMs: 60_000,
      shutdownSignal: 'SIGTERM',
      endSignal: 'SIGKILL',
    })
  }
  const nodes = await startTogether(cluster.map(startNode))
  const saslBrokers = cluster.flatMap(({ saslPort }) => (saslPort === undefined ? [] : `127.0.0.1:${saslPort}`))
  const dataFolders = folders.map((folder) => join(folder, 'data'))
  return Object.assign(asOne(nodes), { brokers: cluster.map(addressOfBroker), saslBrokers, nodes, dataFolders })
}

async function places(count: number, hasSasl: boolean): Promise<readonly BrokerPlace[]> {
  const ids = Array.from({ length: count }, (_, index) => index + 1)
  return Promise.all(
    ids.map(async (id) => ({
      id,
      port: await freePort(),
      controllerPort: await freePort(),
      ...(hasSasl && { saslPort: await freePort() }),
    })),
  )
}

function addressOfBroker({ port }: BrokerPlace): string {
  return `127.0.0.1:${port}`
}
