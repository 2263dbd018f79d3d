import { dirname, join } from 'node:path'
import { answers } from './answers.ts'
import { run } from './commands.ts'
import { placeOf } from './debian/place.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { needInstalled } from './programs.ts'
import { unprivilegedUser } from './unprivileged-user.ts'
import type { VersionOf } from './versions.ts'

export interface PrivatePostgres extends PrivateInstance {
  readonly url: string
  /** Its data, as this process sees them: a server in another Debian sees them elsewhere. */
  readonly dataFolder: string
}

interface PrivatePostgresOptions {
  /** Parameters of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
  /** It begins with all that this one has and follows it, asynchronously, until it is promoted. */
  readonly replicaOf?: PrivatePostgres
  /** @defaultValue that which the environment asks for (versions.ts), or any */
  readonly version?: VersionOf<'postgres'>
}

/** A Postgres of its own, trusting `postgres`. */
export async function startPrivatePostgres(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres> {
  const { root, initdb, postgres } = await needInstalled('postgres', options.version)
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const user = await unprivilegedUser(root)
  const folder = newFolder('postgres', user)
  const place = placeOf(root, folder, user)
  const { env } = place
  const data = join(place.folder, 'data')
  const init =
    options.replicaOf === undefined
      ? place.command(initdb, '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync')
      : place.command(join(dirname(initdb), 'pg_basebackup'), '-D', data, '-d', options.replicaOf.url, ...COPY)
  await run(init.command, init.args, { timeoutMs: 60_000, cwd: folder, env, ...init.user })

  // No test takes the power away, so that nothing needs to be synced to survive a kill.
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    shared_buffers: '16MB',
    ...options.settings,
  }
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const instance = await startInstance({
    folder,
    ...place.command(postgres, '-D', data, ...words),
    env,
    answers: () => answers('postgres', url),
    readyWithinMs: 20_000,
    shutdownSignal: 'SIGINT', // SIGTERM would wait for every client to leave.
    endSignal: 'SIGINT', // After SIGKILL its shared memory would stay for good.
  })
  return Object.assign(instance, { url, dataFolder: join(folder, 'data') })
}

/** At once, and so that it follows. */
const COPY = ['--checkpoint=fast', '--wal-method=stream', '--write-recovery-conf', '--no-sync']
