import type { HistoryEvent } from '../../../testing/history.ts'
import type { CellContext } from '../worker/worker.ts'
import { effectsInPostgres, subjectOf, type StoreHistory } from './store-history.ts'

/** A move past the offset of a send marks it. A move back means a new log, which begins at its first send. */
export async function offsetsHistory(context: CellContext, ids: readonly string[]): Promise<StoreHistory> {
  const { stage, place } = context
  const events: HistoryEvent[] = [...(await effectsInPostgres(context, ids))]
  const records = new Map<string, 'done'>()
  let [begun, from] = [0, 0]
  for (const { at, xid, next } of await stage.postgres.moves(`${place.origin}/0`)) {
    if (next < from) begun = place.log?.().firstSend ?? 0
    for (const [send, id] of ids.entries()) {
      const offset = place.offsetOf?.(send) ?? send
      if (send < begun || offset < from || offset >= next) continue
      const subject = subjectOf(context, id)
      events.push({ at, proc: 'postgres', f: 'mark', type: 'ok', subject, token: xid })
      records.set(subject, 'done')
    }
    from = next
  }
  return { events, records }
}
