import type { HistoryEvent } from '../../../testing/history.ts'
import type { CellContext } from '../worker/worker.ts'
import { effectsInPostgres, subjectOf, type StoreHistory } from './store-history.ts'

/** The n-th send has offset n, so a move past it marks it. A move back means a new log, which begins at its first send. */
export async function offsetsHistory(context: CellContext, ids: readonly string[]): Promise<StoreHistory> {
  const { stage, place } = context
  const events: HistoryEvent[] = [...(await effectsInPostgres(context, ids))]
  const records = new Map<string, 'done'>()
  let [begun, from] = [0, 0]
  for (const { at, xid, next } of await stage.postgres.moves(`${place.origin}/0`)) {
    if (next < from) begun = place.log?.().firstSend ?? 0
    for (const id of ids.slice(begun + from, begun + next)) {
      const subject = subjectOf(context, id)
      events.push({ at, proc: 'postgres', f: 'mark', type: 'ok', subject, token: xid })
      records.set(subject, 'done')
    }
    from = next
  }
  return { events, records }
}
