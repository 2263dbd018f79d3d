import { join } from 'node:path'
import { needInside, saysVersion, type Releases } from '../debian/releases.ts'
import type { VersionOf } from '../versions.ts'

export interface MariadbPrograms {
  /** In which the others are absolute paths: `/`, or a folder to be used by chroot. */
  readonly root: string
  readonly server: string
  /** Writes the first data; a MySQL server does that itself. */
  readonly installer: string | undefined
}

export const MARIADB: Releases<VersionOf<'mariadb'>, MariadbPrograms> = {
  name: 'mariadb',
  title: 'MariaDB',
  debian: {
    '10.11': { suite: 'bookworm', packages: ['mariadb-server-core', 'mariadb-client-core'], sign: 'Ver 10.11.' },
    '11.8': { suite: 'trixie', packages: ['mariadb-server-core', 'mariadb-client-core'], sign: 'Ver 11.8.' },
    'mysql-9': { suite: 'sid', packages: ['mysql-server-core'], sign: 'Ver 9.' },
  },
  find(root, version) {
    const folders = [join(root, 'usr/sbin'), join(root, 'usr/bin')]
    if (version === 'mysql-9') return { root, server: needInside(root, 'mysqld', folders), installer: undefined }
    const server = needInside(root, 'mariadbd', folders)
    return { root, server, installer: needInside(root, 'mariadb-install-db', folders) }
  },
  tell: ({ root, server }) => saysVersion(root, server),
}
