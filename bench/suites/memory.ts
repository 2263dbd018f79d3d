import { lazily } from '../lazily.ts'
import { named, type Suite } from '../suite.ts'

const inRedis = lazily(() => import('../contenders/store/redis-bytes.ts'))
const inPostgres = lazily(() => import('../contenders/store/postgres-bytes.ts'))
const EACH = 'bytes each'

/** Bytes of a record. Measured with a million records, because tables of keys double and pages fill up. */
export const memory: Suite = {
  name: 'memory',
  packages: ['ioredis', 'pg'],
  smoke: 400,
  scenarios: [
    {
      name: 'redis',
      title: 'done keys with a digest, in a Redis of their own',
      messages: 1_000_000,
      repetitions: 1,
      needs: [],
      contenders: named({
        redisLease: inRedis(({ bytesInRedis }) => bytesInRedis),
      }),
      ratios: [],
      bounds: [{ of: 'redisLease', figure: EACH, most: 150 }],
    },
    {
      name: 'postgres',
      title: 'done rows with a digest, heap and indexes',
      messages: 1_000_000,
      repetitions: 1,
      needs: ['postgres'],
      contenders: named({
        postgresInbox: inPostgres(({ bytesInPostgres }) => bytesInPostgres),
      }),
      ratios: [],
      bounds: [{ of: 'postgresInbox', figure: EACH, most: 120 }],
    },
  ],
}
