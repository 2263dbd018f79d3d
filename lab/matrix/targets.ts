import { CATALOGUE } from '../../test/kit/servers/catalogue.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { reportedVersion } from '../../test/kit/servers/reported-version.ts'
import { VERSIONS, type Versioned, type VersionOf } from '../../test/kit/servers/versions.ts'

/** Servers that the suites of a group run on. */
export interface Target {
  /** As it is asked for. */
  readonly name: string
  /** Rejects with the reason where it cannot be had. */
  readonly start: () => Promise<Started>
}

interface Started {
  /** Version that it reports. */
  readonly reported: string
  /** That by which the tests find it, and start no other. */
  readonly env: Readonly<Record<string, string>>
  readonly stop: () => Promise<void>
}

type StoreServer = Exclude<Versioned, 'rabbitmq'>

const START: {
  readonly [N in StoreServer]: (options: {
    version: VersionOf<N>
  }) => Promise<PrivateInstance & { readonly url: string }>
} = {
  redis: startPrivateRedis,
  postgres: startPrivatePostgres,
  mariadb: startPrivateMariadb,
}

export function serverOf<N extends StoreServer>(name: N, version: VersionOf<N>): Target {
  return {
    name: `${name} ${version}`,
    async start() {
      const server = await START[name]({ version })
      const env = { [CATALOGUE[name].testVariable]: server.url, [VERSIONS[name].variable]: version }
      return { reported: await reportedVersion(name, server.url), env, stop: () => server.stop() }
    },
  }
}

export function embeddedPostgres(): Target {
  return {
    name: 'pglite',
    async start() {
      const { PGlite } = await import('@electric-sql/pglite')
      const pglite = await PGlite.create()
      const { rows } = await pglite.query<{ server_version: string }>('show server_version')
      await pglite.close()
      return nothingToStop(`PostgreSQL ${rows[0]?.server_version}, embedded`)
    },
  }
}

export function thisProcess(): Target {
  return { name: 'memory', start: async () => nothingToStop(`Node ${process.version}`) }
}

function nothingToStop(reported: string): Started {
  return { reported, env: {}, stop: async () => {} }
}
