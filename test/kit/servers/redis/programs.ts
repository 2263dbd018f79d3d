import { join } from 'node:path'
import { needInside, saysVersion, type Releases } from '../debian/releases.ts'
import type { VersionOf } from '../versions.ts'

export interface RedisPrograms {
  /** In which `server` is an absolute path: `/`, or a folder to be used by chroot. */
  readonly root: string
  readonly server: string
}

export const REDIS: Releases<VersionOf<'redis'>, RedisPrograms> = {
  name: 'redis',
  title: 'Redis',
  debian: {
    '7.0': { suite: 'bookworm', packages: ['redis-server'], sign: 'Redis server v=7.0.' },
    '8.0': { suite: 'trixie', packages: ['redis-server'], sign: 'Redis server v=8.0.' },
    'valkey-9': { suite: 'forky', packages: ['valkey-server'], sign: 'Valkey server v=9.' },
  },
  find(root, version) {
    const name = version === 'valkey-9' ? 'valkey-server' : 'redis-server'
    return { root, server: needInside(root, name, root === '/' ? [] : [join(root, 'usr/bin')]) }
  },
  tell: ({ root, server }) => saysVersion(root, server),
}
