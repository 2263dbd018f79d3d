import { chmodSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { answers } from './answers.ts'
import { run } from './commands.ts'
import { placeOf } from './debian/place.ts'
import { freePort } from './ports.ts'
import { launch, newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { killTree } from './process-tree.ts'
import { needInstalled } from './programs.ts'
import { noteVersion } from './rabbitmq/noted.ts'
import { forgetProcess } from './test-run.ts'
import type { VersionOf } from './versions.ts'

/**
 * A RabbitMQ of its own: node name, port mapper (epmd), cookie, data and plug-ins (none) are apart from those of the
 * machine's broker. `conf` are further lines of rabbitmq.conf, `advanced` is the whole of advanced.config, for what rabbitmq.conf
 * has no key for; without `version` it is that the environment asks for (versions.ts), or any.
 */
export async function startPrivateRabbit(
  options: { readonly conf?: string; readonly advanced?: string; readonly version?: VersionOf<'rabbitmq'> } = {},
): Promise<PrivateRabbit> {
  const programs = await needInstalled('rabbitmq', options.version)
  const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()]
  const url = `amqp://guest:guest@127.0.0.1:${port}`
  const folder = newFolder('rabbitmq')
  writeConfiguration(folder, port, options.conf ?? '')
  if (options.advanced !== undefined) writeFileSync(join(folder, 'advanced.config'), options.advanced)

  // In the foreground and before the node, which would otherwise leave a daemon behind.
  const epmdArgs = ['-port', String(epmdPort), '-address', '127.0.0.1']
  const place = placeOf(programs.root, folder)
  const env = environment({ folder: place.folder, path: place.env['PATH'], port, distPort, epmdPort })
  const mapper = launch({ folder, ...place.command(programs.epmd, ...epmdArgs), env, endSignal: 'SIGKILL' })
  const instance = await startInstance({
    folder,
    ...place.command(programs.server),
    env,
    answers: () => answers('rabbitmq', url),
    readyWithinMs: 90_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
    async afterEnd() {
      await killTree(mapper.pid)
      forgetProcess(mapper.pid)
    },
  })
  await noteVersion('private', url)
  const control = async (...words: readonly string[]): Promise<void> => {
    const { command, args } = place.command(join(dirname(programs.server), 'rabbitmqctl'), ...words)
    await run(command, args, { timeoutMs: 60_000, cwd: folder, env })
  }
  const flush = (): Promise<void> => control('eval', 'mnesia:sync_log().')
  return Object.assign(instance, { url, control, flush })
}

interface PrivateRabbit extends PrivateInstance {
  readonly url: string
  /** Runs `rabbitmqctl` with these words on it. */
  readonly control: (...words: readonly string[]) => Promise<void>
  /**
   * Resolves when what was declared is on disk. Mnesia answers before its log is written: a kill in that moment loses
   * a durable queue.
   */
  readonly flush: () => Promise<void>
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
  writeFileSync(join(folder, '.erlang.cookie'), `consumeonce${port}`)
  chmodSync(join(folder, '.erlang.cookie'), 0o400)
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
    RABBITMQ_NODENAME: `consume_once_${at.port}@localhost`,
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
