import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { postgresInbox } from 'consume-once/pg'
import type { Scene } from '../chaos/beside.ts'
import { SOAK_SCOPE } from '../chaos/worker-settings.ts'

const EVERY_MS = 1_000
const BATCH = 10_000

/**
 * What `consume-once purge` does, once a second: the background purge of a worker rests for five minutes after each rebalance,
 * so that it does nothing in a run of ten. Redis forgets by itself.
 */
export async function purgeAgainAndAgain(scene: Scene, retentionMs: number, until: AbortSignal): Promise<void> {
  if (scene.redisUrl !== undefined) return
  const pool = new Pool({ connectionString: scene.postgresUrl, max: 3, application_name: 'purge' })
  pool.on('error', () => {})
  const store = postgresInbox({ pool })
  const { admin } = store
  if (admin === undefined) throw new TypeError('an inbox can be purged')
  try {
    await store.open()
    while (!until.aborted) {
      const hasMore = await admin.purge(SOAK_SCOPE, { retentionMs, limit: BATCH }).then(
        ({ removed, more }) => {
          scene.journal.count('records purged', removed)
          return more
        },
        (error: unknown) => {
          scene.journal.note('purge', String(error)) // A busy machine may not answer in time. If it never does, records grow.
          scene.journal.count('purges failed')
          return false
        },
      )
      if (!hasMore) await sleep(EVERY_MS)
    }
  } finally {
    await pool.end()
  }
}
