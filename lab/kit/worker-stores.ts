import { server } from '../../test/kit/servers/server.ts'
import { newPlace } from '../../test/pg/support.ts'
import { redisHarness } from '../../test/redis/harness.ts'
import type { PostgresSpec, RedisSpec } from './worker/spec.ts'

/** One store of each strategy for workers of a test file, and what was committed to the second. */
export interface WorkerStores extends AsyncDisposable {
  readonly lease: RedisSpec
  readonly inbox: PostgresSpec
  /** How often the effect of a message is in the inbox's database. */
  readonly committed: (id: string) => Promise<number>
}

export async function openStores(): Promise<WorkerStores> {
  const [redisUrl, postgresUrl] = [(await server('redis')).url, (await server('postgres')).url]
  const [redis, postgres] = [await redisHarness(redisUrl), await newPlace(postgresUrl)]
  return {
    lease: { on: 'redis', strategy: 'lease', url: redisUrl, options: { prefix: redis.prefix } },
    inbox: { on: 'postgres', strategy: 'inbox', url: postgresUrl, schema: postgres.schema },
    committed: postgres.committed,
    [Symbol.asyncDispose]: async () => void (await Promise.all([redis.close(), postgres.close()])),
  }
}
