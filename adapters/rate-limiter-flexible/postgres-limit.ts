import type { RateLimiterPostgres } from 'rate-limiter-flexible'
import { flag, having, matching, needed, optionsOf, or, type SharedLimit, type Table } from '../../src/internal.ts'
import { CountedQuota, countingOf, NAME } from './counted-quota.ts'
import { isInstalled, library } from './library.ts'

/** The part of a `Pool` of `pg` that is used. */
export interface PostgresLimitPool {
  query(query: { readonly text: string }): Promise<{ readonly rows: readonly unknown[] }>
}

export interface PostgresLimitOptions {
  /** A `Pool` of `pg`. You close it. Calls are short: one statement each, some every second. */
  readonly pool: PostgresLimitPool
  /**
   * The name of the quota, such as the provider and its account: all consumers, processes and replays with this name share
   * it. They must have the same `perSecond`. 1 to 100 characters.
   */
  readonly name: string
  /** The schema of the table. @defaultValue `public` */
  readonly schema?: string
  /** The table of the counters. @defaultValue `consume_once_limits` */
  readonly table?: string
  /**
   * Creates the table at the first call, if it is missing. `false`: a migration of your own has created it, and the role
   * needs no right to create: `create table consume_once_limits (key varchar(255) primary key, points integer not null
   * default 0, expire bigint)`.
   * @defaultValue true
   */
  readonly create?: boolean
}

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/

const TABLE: Table<PostgresLimitOptions> = {
  pool: needed(having('a Pool of pg', 'query')),
  name: needed(NAME),
  schema: or('public', matching('a lower-case identifier', IDENTIFIER)),
  table: or('consume_once_limits', matching('a lower-case identifier', IDENTIFIER)),
  create: or(true, flag()),
}

/**
 * Shares the quota of a `limit` over Postgres, by `rate-limiter-flexible`: four rows for each key, which later windows
 * overwrite, and which are removed an hour after they have expired.
 *
 * @throws ConfigError `CONFIG_INVALID`. A consumer with it does not start without the library
 */
export function postgresLimit(options: PostgresLimitOptions): SharedLimit {
  const { pool, name, schema, table, create } = optionsOf('postgresLimit', TABLE, options)
  return {
    name,
    quota: (permits, seconds) => {
      const window = { permits, seconds }
      const settings = {
        storeClient: pool,
        storeType: 'pool',
        schemaName: schema,
        tableName: table,
        tableCreated: !create,
        ...countingOf(name, window),
      }
      let opening: Promise<RateLimiterPostgres> | undefined
      return new CountedQuota(window, () => {
        // A server that does not answer is asked again at the next call.
        opening ??= open(settings).catch((error: unknown) => {
          opening = undefined
          throw error
        })
        return opening
      })
    },
    open: isInstalled,
  }
}

/** Resolves when its table is there. */
async function open(settings: ConstructorParameters<typeof RateLimiterPostgres>[0]): Promise<RateLimiterPostgres> {
  const { RateLimiterPostgres: Counter } = await library()
  return new Promise((resolve, reject) => {
    const counter = new Counter(settings, (error) => {
      // It calls back at once if the table is there.
      if (error === undefined || error === null) queueMicrotask(() => resolve(counter))
      else reject(error)
    })
  })
}
