import { dirname, join } from 'node:path'
import { versionFolders } from '../commands.ts'
import { needInside, saysVersion, type Releases } from '../debian/releases.ts'
import type { VersionOf } from '../versions.ts'

export interface PostgresPrograms {
  /** In which the others are absolute paths: `/`, or a folder to be used by chroot. */
  readonly root: string
  readonly initdb: string
  readonly postgres: string
}

export const POSTGRES: Releases<VersionOf<'postgres'>, PostgresPrograms> = {
  name: 'postgres',
  title: 'PostgreSQL',
  debian: {
    '15': { suite: 'bookworm', packages: ['postgresql-15'], sign: '(PostgreSQL) 15.' },
    '18': { suite: 'forky', packages: ['postgresql-18'], sign: '(PostgreSQL) 18.' },
  },
  // Debian keeps the server programs out of PATH. Both must be of one version.
  find(root, version) {
    const base = join(root, 'usr/lib/postgresql')
    const folders = version === undefined ? versionFolders(base, 'bin') : [join(base, version, 'bin')]
    const initdb = needInside(root, 'initdb', folders)
    return { root, initdb, postgres: needInside(root, 'postgres', [join(root, dirname(initdb))]) }
  },
  tell: ({ root, postgres }) => saysVersion(root, postgres),
}
