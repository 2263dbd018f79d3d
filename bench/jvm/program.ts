import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inCache } from '../../test/kit/servers/cache.ts'
import { run } from '../../test/kit/servers/commands.ts'
import { foundOnce } from '../../test/kit/servers/lock.ts'
import { cachedJars, fetchJars, type Jars } from '../../test/kit/servers/maven.ts'
import { needJava, needMaven } from '../../test/kit/servers/programs.ts'
import { inRun } from '../../test/kit/servers/test-run.ts'
import type { Versions } from '../machine.ts'

const POM = fileURLToPath(new URL('pom.xml', import.meta.url))
const SOURCE = fileURLToPath(new URL('ParallelConsumer.java', import.meta.url))
const COMPILER = 'org.eclipse.jdt.internal.compiler.batch.Main'

/** `java -cp <classpath> ParallelConsumer ...` runs it. */
interface Program {
  readonly java: string
  readonly classpath: string
}

/** Java, the jars of pom.xml, and ParallelConsumer.java compiled: all of it found, or fetched and made. */
export async function prepare(): Promise<Versions> {
  const { java } = await program()
  const [, version = 'of unknown version'] = (await run(java, ['--version'], { timeoutMs: 60_000 })).split(' ')
  return { 'Parallel Consumer': parallelConsumerVersion(), Java: version }
}

export async function program(): Promise<Program> {
  const java = await needJava()
  const jars = await needJars()
  const classes = await compiled(java, jars)
  return { java, classpath: [classes, join(jars, '*')].join(delimiter) }
}

async function needJars(): Promise<string> {
  const jars = parallelConsumerJars()
  try {
    return cachedJars(jars)
  } catch {
    await fetchJars(await needMaven(), jars)
    return cachedJars(jars)
  }
}

/** Once in a run, in a folder that ends with it. */
function compiled(java: string, jars: string): Promise<string> {
  const classes = inRun('bench-jvm')
  return foundOnce(
    `${classes}.seeker`,
    () => (existsSync(classes) ? classes : undefined),
    async () => {
      const aside = mkdtempSync(`${classes}.`)
      // It does not know the asterisk that Java knows.
      const path = readdirSync(jars).map((jar) => join(jars, jar))
      const how = ['-17', '-d', aside, '-cp', path.join(delimiter), SOURCE]
      await run(java, ['-cp', join(jars, '*'), COMPILER, ...how], { timeoutMs: 120_000 })
      renameSync(aside, classes) // Whole or not at all for those who wait.
      return classes
    },
  )
}

function parallelConsumerJars(): Jars {
  const version = parallelConsumerVersion()
  return { what: `Parallel Consumer ${version}`, folder: inCache(`parallel-consumer-${version}`), pom: POM }
}

function parallelConsumerVersion(): string {
  const [, version] = /<parallel-consumer\.version>([^<]+)</.exec(readFileSync(POM, 'utf8')) ?? []
  if (version === undefined) throw new Error(`${POM} names no parallel-consumer.version`)
  return version
}
