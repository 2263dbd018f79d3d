import { inCache } from '../cache.ts'
import type { Jars } from '../maven.ts'
import { kafkaVersion, loggersOf, POM } from './version.ts'

/** Jars of the broker, in the version that the environment asks for. */
export function kafkaJars(): Jars {
  const version = kafkaVersion()
  return {
    what: `Kafka ${version}`,
    folder: inCache(`kafka-${version}`),
    pom: POM,
    settings: [`-Dkafka.version=${version}`, `-P${loggersOf(version)}`],
  }
}
