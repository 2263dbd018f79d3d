import { join } from 'node:path'
import { versionFolders } from '../commands.ts'
import { needInside, type Releases } from '../debian/releases.ts'
import type { VersionOf } from '../versions.ts'

export interface RabbitPrograms {
  /** In which the others are absolute paths: `/`, or a folder to be used by chroot. */
  readonly root: string
  readonly server: string
  readonly epmd: string
}

export const RABBITMQ: Releases<VersionOf<'rabbitmq'>, RabbitPrograms> = {
  name: 'rabbitmq',
  title: 'RabbitMQ',
  debian: {
    '3.10': { suite: 'bookworm', packages: ['rabbitmq-server'], sign: '/rabbitmq_server-3.10.' },
    '4.0': { suite: 'trixie', packages: ['rabbitmq-server'], sign: '/rabbitmq_server-4.0.' },
    '4.3': { suite: 'sid', packages: ['rabbitmq-server'], sign: '/rabbitmq_server-4.3.' },
  },
  find: (root) => ({
    root,
    // The script in PATH may be Debian's wrapper, which changes to the user rabbitmq and the machine's own data.
    server: needInside(root, 'rabbitmq-server', versionFolders(join(root, 'usr/lib/rabbitmq/lib'), 'sbin')),
    epmd: needInside(root, 'epmd', versionFolders(join(root, 'usr/lib/erlang'), 'bin')),
  }),
  tell: ({ server }) => server,
}
