import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answers } from './answers.ts'
import { isRoot, run } from './commands.ts'
import { placeOf } from './debian/place.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { needInstalled } from './programs.ts'
import type { VersionOf } from './versions.ts'

/**
 * A MariaDB, or a MySQL, of its own, with a database `test` and a `root` without a password. `settings` are system variables as
 * its command line names them; without `version` it is that which the environment asks for (versions.ts), or any.
 */
export async function startPrivateMariadb(
  options: { readonly settings?: Readonly<Record<string, string>>; readonly version?: VersionOf<'mariadb'> } = {},
): Promise<PrivateInstance & { readonly url: string }> {
  const { root, server, installer } = await needInstalled('mariadb', options.version)
  const port = await freePort()
  const url = `mysql://root@127.0.0.1:${port}/test`
  const folder = newFolder('mariadb')
  const place = placeOf(root, folder)
  const { env } = place
  const words = ['--no-defaults', `--datadir=${join(place.folder, 'data')}`, `--tmpdir=${place.folder}`]
  if (isRoot()) words.push('--user=root') // It refuses to run as root unless told to.
  const first =
    installer === undefined
      ? place.command(server, ...words, '--initialize-insecure')
      : place.command(installer, ...words, '--auth-root-authentication-method=normal', '--skip-test-db')
  await run(first.command, first.args, { timeoutMs: 120_000, cwd: folder, env })

  writeFileSync(join(folder, 'init.sql'), 'create database if not exists test;\n')
  const settings = {
    port: String(port),
    'bind-address': '127.0.0.1',
    'secure-file-priv': place.folder,
    socket: join(place.folder, 'socket'),
    'init-file': join(place.folder, 'init.sql'),
    'loose-mysqlx': 'OFF', // It would take a port of its own.
    'innodb-buffer-pool-size': '32M',
    // Written at each commit, which outlives the process, and not synced: no test takes the power away.
    'innodb-flush-log-at-trx-commit': '2',
    'sync-binlog': '0',
    ...options.settings,
  }
  const withSettings = Object.entries(settings).map(([name, value]) => `--${name}=${value}`)
  const instance = await startInstance({
    folder,
    ...place.command(server, ...words, ...withSettings),
    env,
    answers: () => answers('mariadb', url),
    readyWithinMs: 30_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
  })
  return Object.assign(instance, { url })
}
