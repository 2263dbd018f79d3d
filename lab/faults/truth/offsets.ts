import type { HistoryEvent } from '../../../testing/history.ts'
import type { CellContext } from '../worker/worker.ts'
import { effectsInPostgres, subjectOf, type StoreHistory } from './store-history.ts'

/** A move past the offset of a send marks it. A move back means a new log, which begins at its first send. */
export async function offsetsHistory(context: CellContext, ids: readonly string[]): Promise<StoreHistory> {
  const { stage, place } = context
  const events: HistoryEvent[] = [...(await effectsInPostgres(context, ids))]
  const records = new Map<string, 'done'>()
  const newLog = place.log?.().firstSend ?? 0
  let [begun, end, from] = [0, newLog === 0 ? ids.length : newLog, 0]
  for (const { at, xid, next } of await stage.postgres.moves(`${place.origin}/0`)) {
    if (next < from) [begun, end] = [newLog, ids.length]
    for (const [send, id] of ids.entries()) {
      const offset = place.offsetOf?.(send) ?? send
      if (send < begun || send >= end || offset < from || offset >= next) continue
      const subject = subjectOf(context, id)
      events.push({ at, proc: 'postgres', f: 'mark', type: 'ok', subject, token: xid })
      records.set(subject, 'done')
    }
    from = next
  }
  return { events, records }
}
