import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { answers } from '../answers.ts'
import { run } from '../commands.ts'
import { placeOf } from '../debian/place.ts'
import { launch, newFolder, startInstance, type PrivateInstance } from '../private-instance.ts'
import { killTree } from '../process-tree.ts'
import { freePort } from '../ports.ts'
import { forgetProcess } from '../test-run.ts'
import type { VersionOf } from '../versions.ts'
import { noteVersion } from './noted.ts'
import type { RabbitPrograms } from './programs.ts'

export interface PrivateRabbitOptions {
  /** Further lines of rabbitmq.conf. */
  readonly conf?: string
  /** The whole of advanced.config, for what rabbitmq.conf has no key for. */
  readonly advanced?: string
  /** @defaultValue the one that the environment asks for (versions.ts), or any */
  readonly version?: VersionOf<'rabbitmq'>
}

export interface PrivateRabbit extends PrivateInstance {
  readonly url: string
  /** Such as `consume_once_25672@localhost`. */
  readonly node: string
  /** Runs `rabbitmqctl` with these words on it. */
  readonly control: (...words: readonly string[]) => Promise<void>
  /** What that prints. */
  readonly controlOutput: (...words: readonly string[]) => Promise<string>
  /**
   * Resolves when what was declared is on disk. Mnesia answers before its log is written: a kill in that moment loses
   * a durable queue.
   */
  readonly flush: () => Promise<void>
}

/** A port mapper (epmd). Nodes with the same one find each other, and have the same cookie. */
export interface Mapper {
  readonly port: number
  end(): Promise<void>
}

/** In the foreground and before its nodes, the first of which would otherwise leave a daemon behind. */
export async function startMapper(programs: RabbitPrograms): Promise<Mapper> {
  const [port, folder] = [await freePort(), newFolder('epmd')]
  const place = placeOf(programs.root, folder)
  const env = { PATH: place.env['PATH'], ERL_EPMD_PORT: String(port) }
  const args = ['-port', String(port), '-address', '127.0.0.1']
  const { pid } = launch({ folder, ...place.command(programs.epmd, ...args), env, endSignal: 'SIGKILL' })
  return {
    port,
    async end() {
      await killTree(pid)
      forgetProcess(pid)
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export function nodeName(port: number): string {
  return `consume_once_${port}@localhost`
}

/** Resolves when it answers on this port. */
export async function startNode(
  programs: RabbitPrograms,
  mapper: Mapper,
  port: number,
  { conf = '', advanced }: Omit<PrivateRabbitOptions, 'version'>,
  afterEnd: () => Promise<void> = async () => {},
): Promise<PrivateRabbit> {
  const distPort = await freePort()
  const url = `amqp://guest:guest@127.0.0.1:${port}`
  const folder = newFolder('rabbitmq')
  writeConfiguration(folder, port, conf)
  writeFileSync(join(folder, '.erlang.cookie'), `consumeonce${mapper.port}`)
  chmodSync(join(folder, '.erlang.cookie'), 0o400)
  if (advanced !== undefined) writeFileSync(join(folder, 'advanced.config'), advanced)
  const place = placeOf(programs.root, folder)
  const env = environment({ folder: place.folder, path: place.env['PATH'], port, distPort, epmdPort: mapper.port })
  const instance = await startInstance({
    folder,
    ...place.command(programs.server),
    env,
    answers: () => answers('rabbitmq', url),
    readyWithinMs: 90_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
    afterEnd,
  })
  await noteVersion('private', url)
  const controlOutput = (...words: readonly string[]): Promise<string> => {
    const { command, args } = place.command(join(dirname(programs.server), 'rabbitmqctl'), ...words)
    return run(command, args, { timeoutMs: 60_000, cwd: folder, env })
  }
  const control = async (...words: readonly string[]): Promise<void> => void (await controlOutput(...words))
  const flush = (): Promise<void> => control('eval', 'mnesia:sync_log().')
  return Object.assign(instance, { url, node: nodeName(port), control, controlOutput, flush })
}

function writeConfiguration(folder: string, port: number, more: string): void {
  const lines = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    'log.console = false',
    'vm_memory_high_watermark.absolute = 1GB',
    'disk_free_limit.absolute = 100MB',
    more,
  ]
  writeFileSync(join(folder, 'rabbitmq.conf'), `${lines.join('\n')}\n`)
  writeFileSync(join(folder, 'enabled_plugins'), '[].\n')
}

/**
 * The whole environment: a variable of the machine's own broker must not leak in. RABBITMQ_FEATURE_FLAGS is better
 * absent than empty, which would disable every flag of the fresh node.
 */
function environment(at: {
  readonly folder: string
  readonly path: string | undefined
  readonly port: number
  readonly distPort: number
  readonly epmdPort: number
}): NodeJS.ProcessEnv {
  return {
    PATH: at.path,
    LANG: 'C.UTF-8',
    HOME: at.folder,
    ERL_EPMD_PORT: String(at.epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_CRASH_DUMP: join(at.folder, 'erl_crash.dump'),
    RABBITMQ_NODENAME: nodeName(at.port),
    RABBITMQ_DIST_PORT: String(at.distPort),
    RABBITMQ_MNESIA_BASE: join(at.folder, 'mnesia'),
    RABBITMQ_LOG_BASE: join(at.folder, 'logs'),
    RABBITMQ_CONFIG_FILE: join(at.folder, 'rabbitmq.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(at.folder, 'advanced.config'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_ENABLED_PLUGINS_FILE: join(at.folder, 'enabled_plugins'),
    RABBITMQ_PID_FILE: join(at.folder, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none',
  }
}
