import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compiled } from '../../test/kit/compiled.ts'
import { copyEmptyPglite } from './empty-pglite.ts'
import { server } from '../../test/kit/servers/server.ts'
import { removeKeys, withKafka, withPostgres, withRabbit, withRedis } from '../../test/kit/servers/clients.ts'

export interface DemoRun {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly stdin?: string | Uint8Array
  /** @defaultValue the addresses of the servers that the flags name */
  readonly env?: Readonly<Record<string, string>>
}

/** The figures of a demo's one JSON object. */
export type Figures = Record<string, number> & {
  readonly resumed: boolean
  readonly source: string
  readonly store: string
}

/** A demo in a folder of its own, driven as a stranger would: as a process, by flags, through its files. */
export class DemoProcess implements AsyncDisposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'consume-once-demo-'))
  readonly state: string = join(this.dir, 'state')
  /** Words of all its command lines: the servers among them hold something of it. */
  readonly #touched = new Set<string>()

  /** @param hasPglite - its embedded database is there, with nothing in it: to make its own takes seconds. @defaultValue false */
  constructor({ hasPglite = false }: { readonly hasPglite?: boolean } = {}) {
    if (hasPglite) copyEmptyPglite(join(this.state, 'pglite'))
  }

  /** `npm run --silent demo -- …`, without npm and what compiles at each start. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<DemoRun> {
    for (const arg of args) this.#touched.add(arg)
    const { stdin, env: ownEnv = await addresses(args) } = options
    const env = { ...process.env, NO_COLOR: '1', ...ownEnv }
    const child = spawn(process.execPath, [compiled('cli/main.ts'), 'demo', ...args], {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.stdin.on('error', () => {}).end(stdin ?? '')
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }))
    })
  }

  /** A run whose figures are wanted. Fails, with what it said, unless stdout is exactly one JSON object. */
  async figures(args: readonly string[]): Promise<Figures & { readonly exitCode: number | null }> {
    const { exitCode, stdout, stderr } = await this.run([...args, '--state', this.state, '--json'])
    try {
      return { ...(JSON.parse(stdout) as Figures), exitCode } as Figures & { readonly exitCode: number | null }
    } catch (cause) {
      throw new Error(`expected one JSON object on stdout, exit ${exitCode}, got:\n${stdout}\n${stderr}`, { cause })
    }
  }

  path(name: string): string {
    return join(this.dir, name)
  }

  /** An input file made of lines of another. */
  input(name: string, lines: readonly string[]): string {
    const path = this.path(name)
    writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
    return path
  }

  rows(path: string): Record<string, unknown>[] {
    return readLines(path).map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Nothing is left on any server, and the folder is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    const manifest = join(this.state, 'demo.json')
    if (existsSync(manifest))
      await this.#clean((JSON.parse(readFileSync(manifest, 'utf8')) as { namespace: string }).namespace)
    rmSync(this.dir, { recursive: true, force: true })
  }

  async #clean(namespace: string): Promise<void> {
    if (this.#touched.has('redis')) await dropKeys(namespace)
    if (this.#touched.has('postgres')) {
      await withPostgres((await server('postgres')).url, (client) =>
        client.query(`drop schema if exists ${namespace} cascade`),
      )
    }
    if (this.#touched.has('rabbitmq')) {
      await withRabbit((await server('rabbitmq')).url, async (connection) => {
        const channel = await connection.createChannel()
        for (const queue of [namespace, `${namespace}.dead-letter`]) await channel.deleteQueue(queue)
        await channel.close()
      })
    }
    if (this.#touched.has('kafka')) {
      await withKafka((await server('kafka')).brokers.join(','), async (admin) => {
        const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(namespace))
        if (topics.length > 0) await admin.deleteTopics({ topics })
        const { groups } = await admin.listGroups()
        const own = groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(namespace))
        if (own.length > 0) await admin.deleteGroups(own)
      })
    }
  }
}

export function readLines(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** The message IDs of lines of the example. */
export function idsOf(lines: readonly string[]): Set<string | undefined> {
  return new Set(lines.map((line) => (JSON.parse(line) as { headers: string[] }).headers[1]))
}

/** The addresses of just those servers that a run needs. */
async function addresses(args: readonly string[]): Promise<Record<string, string>> {
  const wants = (name: string): boolean => args.includes(name)
  return {
    ...(wants('redis') ? { REDIS_URL: (await server('redis')).url } : {}),
    ...(wants('postgres') ? { DATABASE_URL: (await server('postgres')).url } : {}),
    ...(wants('rabbitmq') ? { RABBITMQ_URL: (await server('rabbitmq')).url } : {}),
    ...(wants('kafka') ? { KAFKA_BROKERS: (await server('kafka')).brokers.join(',') } : {}),
  }
}

async function dropKeys(namespace: string): Promise<void> {
  await withRedis((await server('redis')).url, (redis) => removeKeys(redis, `${namespace}:`))
}
