import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { Scene } from '../chaos/beside.ts'
import { between, type Random } from '../chaos/seeded.ts'

const AT_LEAST_MS = 10_000
const AT_MOST_MS = 40_000

/**
 * Ends connections to the store, which stays up: all of them (Redis), or those of one worker (Postgres). With a lease those to
 * Postgres are left alone, where the handler has its effects: it could not say whether one had happened.
 */
export async function cutStore(scene: Scene, random: Random, until: AbortSignal): Promise<void> {
  const pause = (): Promise<boolean> =>
    sleep(between(random, AT_LEAST_MS, AT_MOST_MS), true, { signal: until }).catch(() => false)
  const { redisUrl, journal } = scene
  const cut = redisUrl === undefined ? ofPostgres(scene, random) : ofRedis(redisUrl)
  try {
    while (await pause()) {
      journal.note('store', `${await cut.now()} connections cut`)
      journal.count('store-connections-cut')
    }
  } finally {
    await cut.end()
  }
}

interface Cut {
  /** How many. */
  now(): Promise<number>
  end(): Promise<void>
}

function ofPostgres({ postgresUrl, workers }: Scene, random: Random): Cut {
  const pool = new Pool({ connectionString: postgresUrl, max: 1 })
  return {
    async now() {
      const worker = workers[between(random, 0, workers.length - 1)]
      const ofWorker = `select pid from pg_stat_activity where split_part(application_name, '.', 1) = $1`
      const { rows } = await pool.query(`select pg_terminate_backend(pid) from (${ofWorker}) as its`, [worker?.name])
      return rows.length
    },
    end: () => pool.end(),
  }
}

function ofRedis(url: string): Cut {
  const redis = new Redis(url)
  return {
    now: async () => Number(await redis.call('CLIENT', 'KILL', 'TYPE', 'normal')),
    end: async () => redis.disconnect(),
  }
}
