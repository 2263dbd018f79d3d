import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answers } from './answers.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { needPgbouncer } from './programs.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

export interface PrivatePgbouncer extends PrivateInstance {
  /** The address of the same database, through the pooler. */
  readonly url: string
}

export interface PrivatePgbouncerOptions {
  readonly poolMode: 'session' | 'transaction' | 'statement'
  /** Connections to the server. */
  readonly poolSize: number
}

/** A pgbouncer in front of the database of `url`, which logs all its clients in as the user of `url`. */
export async function startPrivatePgbouncer(
  url: string,
  { poolMode, poolSize }: PrivatePgbouncerOptions,
): Promise<PrivatePgbouncer> {
  const program = await needPgbouncer()
  const port = await freePort()
  const user = await unprivilegedUser('/')
  const folder = newFolder('pgbouncer', user)
  const { hostname, port: behind, pathname, username, password } = new URL(url)
  const login = `user=${decodeURIComponent(username)}${password === '' ? '' : ` password=${decodeURIComponent(password)}`}`
  const settings = `[databases]
behind = host=${hostname} port=${behind || 5432} dbname=${pathname.slice(1)} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
max_client_conn = 100
`
  const ini = join(folder, 'pgbouncer.ini')
  writeFileSync(ini, settings, { mode: 0o644 })
  const through = `postgres://${username}@127.0.0.1:${port}/behind`
  const instance = await startInstance({
    folder,
    command: program,
    args: [ini],
    user,
    answers: () => answers('postgres', through),
    readyWithinMs: 10_000,
    shutdownSignal: 'SIGINT',
    endSignal: 'SIGKILL',
  })
  return Object.assign(instance, { url: through })
}
