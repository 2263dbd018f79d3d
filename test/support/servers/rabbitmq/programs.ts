import { basename, join, relative } from 'node:path'
import { findProgram, needProgram, versionFolders } from '../commands.ts'
import { needChroot } from '../debian/chroot.ts'
import { cachedRoot, unpackRoot, type DebianRoot } from '../debian/unpack.ts'
import type { RabbitVersion } from './version.ts'

export interface RabbitPrograms {
  /** In which `server` and `epmd` are absolute paths: `/`, or a folder to be used by chroot. */
  readonly root: string
  readonly server: string
  readonly epmd: string
}

const SUITES: Readonly<Record<RabbitVersion, string>> = { '3.10': 'bookworm', '4.0': 'trixie', '4.3': 'sid' }

/** Those of the machine if they are of that version (`undefined`: whichever they are), or those that were unpacked before. */
export function rabbitPrograms(version: RabbitVersion | undefined): RabbitPrograms {
  if (version === undefined || isOf(version, ownServer() ?? '')) return inFolder('/')
  const root = cachedRoot(debianRoot(version))
  if (root !== undefined) {
    needChroot()
    return inFolder(root)
  }
  const own = ownServer()
  throw new Error(
    own === undefined
      ? `no RabbitMQ ${version} on this machine`
      : `expected RabbitMQ ${version}, got ${own} on this machine`,
  )
}

/** From the suite of Debian that has it. */
export async function unpackRabbit(version: RabbitVersion): Promise<void> {
  await unpackRoot(debianRoot(version))
}

function inFolder(root: string): RabbitPrograms {
  const inside = (path: string): string => {
    const way = relative(root, path)
    if (way.startsWith('..')) throw new Error(`no ${basename(path)} in ${root}`)
    return `/${way}`
  }
  const epmd = needProgram('epmd', versionFolders(join(root, 'usr/lib/erlang'), 'bin'))
  return { root, server: inside(needProgram(...serverIn(root))), epmd: inside(epmd) }
}

function ownServer(): string | undefined {
  return findProgram(...serverIn('/'))
}

/** The script in PATH may be Debian's wrapper, which changes to the user rabbitmq and the machine's own data. */
function serverIn(root: string): [name: string, folders: readonly string[]] {
  return ['rabbitmq-server', versionFolders(join(root, 'usr/lib/rabbitmq/lib'), 'sbin')]
}

function isOf(version: RabbitVersion, server: string): boolean {
  return server.includes(`/rabbitmq_server-${version}.`)
}

function debianRoot(version: RabbitVersion): DebianRoot {
  const suite = SUITES[version]
  return {
    name: `rabbitmq-${version}-${suite}`,
    suite,
    packages: ['rabbitmq-server'],
    check: (root) => {
      const { server } = inFolder(root)
      if (!isOf(version, server)) throw new Error(`expected RabbitMQ ${version} in Debian ${suite}, got ${server}`)
    },
  }
}
