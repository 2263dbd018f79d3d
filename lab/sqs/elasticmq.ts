import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inCache } from '../../test/kit/servers/cache.ts'
import { cachedJars, fetchJars, type Jars } from '../../test/kit/servers/maven.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { newFolder, startInstance, type PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { needJava, needMaven } from '../../test/kit/servers/programs.ts'

const POM = fileURLToPath(new URL('pom.xml', import.meta.url))
const JVM = ['-Xms32m', '-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData']

export interface ElasticMq extends PrivateInstance {
  readonly endpoint: string
}

/** A server with the API of SQS, in memory, on a port of its own. Its jars are from Maven Central, and kept. */
export async function startElasticMq(): Promise<ElasticMq> {
  const java = await needJava()
  const jars = await needJars()
  const port = await freePort()
  const folder = newFolder('elasticmq')
  const endpoint = `http://127.0.0.1:${port}`
  const config = join(folder, 'elasticmq.conf')
  writeFileSync(
    config,
    `include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = ${port}, context-path = "" }
rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
`,
  )
  const instance = await startInstance({
    folder,
    command: java,
    args: [...JVM, `-Dconfig.file=${config}`, '-cp', join(jars, '*'), 'org.elasticmq.server.Main'],
    answers: async () => {
      const { ok, status } = await fetch(`${endpoint}/?Action=ListQueues`)
      if (!ok) throw new Error(`ElasticMQ answered ${status}`)
    },
    readyWithinMs: 180_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
  })
  return Object.assign(instance, { endpoint })
}

async function needJars(): Promise<string> {
  const [, version] = /<elasticmq\.version>([^<]+)</.exec(readFileSync(POM, 'utf8')) ?? []
  const jars: Jars = { what: `ElasticMQ ${version}`, folder: inCache(`elasticmq-${version}`), pom: POM }
  try {
    return cachedJars(jars)
  } catch {
    await fetchJars(await needMaven(), jars)
    return cachedJars(jars)
  }
}
