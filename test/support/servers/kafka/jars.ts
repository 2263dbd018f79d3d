import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inCache } from '../cache.ts'
import { run } from '../commands.ts'
import { kafkaVersion, loggersOf, POM } from './version.ts'

/** The folder of the jars fetched before; throws if there is none, or only half of one. */
export function cachedJars(): string {
  const jars = jarFolder()
  if (!isComplete(jars)) throw new Error(`no jars of Kafka ${kafkaVersion()} in ${jars}`)
  return jars
}

/** From Maven Central. Fetched aside and moved into place whole, so that other test runs never see half of it. */
export async function fetchJars(mvn: string): Promise<void> {
  const jars = jarFolder()
  const aside = mkdtempSync(`${jars}.`)
  try {
    const version = kafkaVersion()
    const which = [`-Dkafka.version=${version}`, `-P${loggersOf(version)}`]
    const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${aside}`]
    await run(mvn, ['-q', '-B', '-f', POM, ...which, ...copy], { timeoutMs: 600_000 }).catch((cause: Error) => {
      const advice = 'is it a release, and can Maven Central be reached from here?'
      throw new Error(`Kafka ${version} was not fetched: ${advice} ${cause.message}`, { cause })
    })
    writeFileSync(join(aside, '.ok'), '')
    if (isComplete(jars)) return
    rmSync(jars, { recursive: true, force: true })
    renameSync(aside, jars)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

function isComplete(jars: string): boolean {
  return existsSync(join(jars, '.ok'))
}

function jarFolder(): string {
  return inCache(`kafka-${kafkaVersion()}`)
}
