import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './commands.ts'

/** The dependencies of a pom.xml from Maven Central, kept in a folder of their own. */
export interface Jars {
  /** Product and version, for people. */
  readonly what: string
  readonly folder: string
  readonly pom: string
  /** Further arguments of Maven. */
  readonly settings?: readonly string[]
}

/** Folder of the jars fetched before; throws if it is missing or incomplete. */
export function cachedJars(jars: Jars): string {
  if (!isComplete(jars)) throw new Error(`no jars of ${jars.what} in ${jars.folder}`)
  return jars.folder
}

/** From Maven Central. Fetched aside and moved into place whole, so that other test runs never see half of it. */
export async function fetchJars(mvn: string, jars: Jars): Promise<void> {
  const { what, folder, pom, settings = [] } = jars
  const aside = mkdtempSync(`${folder}.`)
  try {
    const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${aside}`]
    await run(mvn, ['-q', '-B', '-f', pom, ...settings, ...copy], { timeoutMs: 600_000 }).catch((cause: Error) => {
      const advice = 'is it a release, and can Maven Central be reached from here?'
      throw new Error(`${what} was not fetched: ${advice}\n${cause.message}`, { cause })
    })
    writeFileSync(join(aside, '.ok'), '')
    if (isComplete(jars)) return
    rmSync(folder, { recursive: true, force: true })
    renameSync(aside, folder)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

function isComplete({ folder }: Jars): boolean {
  return existsSync(join(folder, '.ok'))
}
