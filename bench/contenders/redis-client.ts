import { Redis } from 'ioredis'
import { serverOf, type Job, type Measurement } from '../suite.ts'

/** Removes the keys of the job afterwards. */
export async function onRedis(job: Job, run: (redis: Redis) => Promise<Measurement>): Promise<Measurement> {
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
