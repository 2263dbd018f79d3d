import { join } from 'node:path'
import { answers } from './answers.ts'
import { isRoot, run } from './commands.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance, type SystemUser } from './private-instance.ts'
import { needInstalled } from './programs.ts'

/** A Postgres of its own, trusting `postgres`. `settings` are parameters of postgresql.conf. */
export async function startPrivatePostgres(
  options: { readonly settings?: Readonly<Record<string, string>> } = {},
): Promise<PrivateInstance & { readonly url: string }> {
  const { initdb, postgres } = await needInstalled('postgres')
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const user = isRoot() ? await unprivilegedUser() : undefined
  const folder = newFolder('postgres', user)
  const data = join(folder, 'data')
  const initial = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await run(initdb, initial, { timeoutMs: 60_000, cwd: folder, ...user })

  // No test takes the power away, so that nothing needs to be synced to survive a kill.
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    shared_buffers: '16MB',
    ...options.settings,
  }
  const instance = await startInstance({
    folder,
    command: postgres,
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    user,
    answers: () => answers('postgres', url),
    readyWithinMs: 20_000,
    shutdownSignal: 'SIGINT', // SIGTERM would wait for every client to leave.
    endSignal: 'SIGINT', // After SIGKILL its shared memory would stay for good.
  })
  return Object.assign(instance, { url })
}

/** Postgres refuses to run as root. */
async function unprivilegedUser(): Promise<SystemUser> {
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, name], { timeoutMs: 5_000 })))
      return { uid: Number(uid), gid: Number(gid) }
    } catch {
      // The next one.
    }
  }
  throw new Error('Postgres refuses to run as root, and there is neither a user postgres nor nobody')
}
