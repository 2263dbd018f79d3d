import { Redis } from 'ioredis'
import { redisUrl } from './servers.ts'

/** A client whose keys begin with this: what it writes is removed by `removeKeys`. */
export function redisUnder(prefix: string): Redis {
  return new Redis(redisUrl(), { keyPrefix: `${prefix}:` })
}

/** Removes what an example has written to Redis. */
export async function removeKeys(prefix: string): Promise<void> {
  const redis = new Redis(redisUrl())
  for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(keys as string[])
  }
  await redis.quit()
}
