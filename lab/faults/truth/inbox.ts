import type { HistoryEvent } from '../../../testing/history.ts'
import { keyOf } from '../identity.ts'
import type { CellContext } from '../worker/worker.ts'
import { effectsInPostgres, subjectOf, type StoreHistory } from './store-history.ts'

export async function inboxHistory(context: CellContext, ids: readonly string[]): Promise<StoreHistory> {
  const { stage, place } = context
  const events: HistoryEvent[] = [...(await effectsInPostgres(context, ids))]
  const records = new Map<string, 'done' | 'given-up' | 'parked'>()
  for (const id of ids) {
    const row = await stage.postgres.record(keyOf(place.group, place.origin, id))
    if (row === undefined) continue
    const { at, xid, outcome, reason } = row
    const head = { at, proc: 'postgres', subject: subjectOf(context, id), token: xid, type: 'ok' } as const
    const as = outcome === 'g' ? 'given-up' : 'parked'
    records.set(head.subject, outcome === 'd' ? 'done' : as)
    events.push(outcome === 'd' ? { ...head, f: 'mark' } : { ...head, f: 'set-aside', as, reason: reason ?? '' })
  }
  return { events, records }
}
