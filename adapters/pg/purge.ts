import type { Purged, Purging } from '../../src/index.ts'
import type { Place } from './place.ts'
import { purgeAlone, purgeRecords } from './sql/purge-records.ts'

/** One batch, in a short transaction. Nothing where another process is at it: it goes on from there. */
export async function purge({ sessions, tables, scope }: Place, { retentionMs, limit }: Purging): Promise<Purged> {
  const { session, rows } = await sessions.begin(purgeAlone(tables, scope))
  try {
    if (rows[0]?.is_alone !== true) {
      await session.rollback()
      return { removed: 0, more: false }
    }
    const [purged] = await session.run(purgeRecords(tables, { scope, retentionMs, limit }))
    await session.commit({ text: 'select' })
    const { records, attempts } = purged ?? { records: 0, attempts: 0 }
    return { removed: records + attempts, more: records === limit || attempts === limit }
  } catch (error) {
    await session.rollback()
    throw error
  }
}
