import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const POM: string = fileURLToPath(new URL('pom.xml', import.meta.url))

/** Names another version of Kafka for the tests than that of pom.xml. */
export const KAFKA_VERSION_VARIABLE = 'CONSUME_ONCE_TEST_KAFKA_VERSION'

/** The version pom.xml asks for; docker-compose.yml runs the same. */
export const DEFAULT_KAFKA_VERSION: string = versionOf(readFileSync(POM, 'utf8'))

/** Releases that serve kafkajs and can start here: older brokers need ZooKeeper or other loggers, newer ones are untested. */
const KNOWN = /^(3\.9|4\.\d{1,2})\.\d{1,2}$/

/** The version that the environment asks for, `undefined` if any will do. @throws TypeError for one that cannot be started */
export function askedKafkaVersion(): string | undefined {
  const asked = process.env[KAFKA_VERSION_VARIABLE]?.trim() ?? ''
  if (asked === '') return undefined
  if (!KNOWN.test(asked)) {
    throw new TypeError(`${KAFKA_VERSION_VARIABLE}: expected a release 3.9.x or 4.x.y of Apache Kafka, got ${asked}`)
  }
  return asked
}

/** The version of every broker that the tests start. */
export function kafkaVersion(): string {
  return askedKafkaVersion() ?? DEFAULT_KAFKA_VERSION
}

/** Whether these brokers have the group protocol of KIP-848: Kafka 3 has it only as a preview. */
export function hasKip848(): boolean {
  return !kafkaVersion().startsWith('3.')
}

/** Kafka 4 logs by Log4j 2, Kafka 3 by its first version, or what has become of it. */
export function loggersOf(version: string): 'log4j2' | 'reload4j' {
  return version.startsWith('3.') ? 'reload4j' : 'log4j2'
}

function versionOf(pom: string): string {
  const [, version] = /<kafka\.version>([^<]+)</.exec(pom) ?? []
  if (version === undefined) throw new Error(`${POM} names no kafka.version`)
  return version
}
