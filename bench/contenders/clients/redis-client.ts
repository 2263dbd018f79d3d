import { Redis } from 'ioredis'
import { serverOf, type Job } from '../../suite.ts'

/** Removes the keys of the job afterwards. */
export async function onRedis<T>(job: Job, run: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(serverOf(job, 'redis'))
  try {
    return await run(redis)
  } finally {
    for await (const keys of redis.scanStream({ match: `${job.name}:*`, count: 5_000 })) {
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]))
    }
    await redis.quit()
  }
}
