import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../commands.ts'

const POM = fileURLToPath(new URL('pom.xml', import.meta.url))

/** The version pom.xml asks for; docker-compose.yml runs the same. */
export const KAFKA_VERSION: string = versionOf(readFileSync(POM, 'utf8'))

/** The folder of the jars fetched before; throws if there is none, or only half of one. */
export function cachedJars(): string {
  const jars = jarFolder()
  if (!isComplete(jars)) throw new Error(`no jars of Kafka ${KAFKA_VERSION} in ${jars}`)
  return jars
}

/** From Maven Central. Fetched aside and moved into place whole, so that other test runs never see half of it. */
export async function fetchJars(mvn: string): Promise<void> {
  const jars = jarFolder()
  mkdirSync(join(jars, '..'), { recursive: true })
  const aside = mkdtempSync(`${jars}.`)
  try {
    const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${aside}`]
    await run(mvn, ['-q', '-B', '-f', POM, ...copy], { timeoutMs: 600_000 })
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
  const cache = process.env['CO_CACHE'] ?? process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  return join(cache, 'consume-once', `kafka-${KAFKA_VERSION}`)
}

function versionOf(pom: string): string {
  const [, version] = /<kafka\.version>([^<]+)</.exec(pom) ?? []
  if (version === undefined) throw new Error(`${POM} names no kafka.version`)
  return version
}
