import type { EventOf, History, HistoryEvent } from '../../../testing/history.ts'
import type { DeadLetter } from '../stage/broker-side.ts'
import { TERMS, type StoreName } from '../strategy.ts'
import { trueMs } from '../../kit/true-time.ts'
import type { CellContext } from '../worker/worker.ts'
import { inboxHistory } from './inbox.ts'
import { postgresLeaseHistory, redisLeaseHistory } from './lease.ts'
import { offsetsHistory } from './offsets.ts'
import type { StoreHistory } from './store-history.ts'

export interface Sent {
  /** Distinct. */
  readonly ids: readonly string[]
  readonly sends: number
  readonly isDrained: boolean
}

/** Joins what the servers hold when no worker is left to what the proxies and workers recorded. */
export async function gather(context: CellContext, { ids, sends, isDrained }: Sent): Promise<History> {
  const { stage, place, recorder, cell } = context
  const hasDeadLetters = recorder.has(({ f }) => f === 'copy')
  const { unsettled, deadLetters } = await stage.broker(cell.broker).left(place, sends, hasDeadLetters)
  // Handlers may have run what nobody sent, or committed.
  const run = recorder.events.flatMap((event) =>
    event.f === 'hstart' ? [event.subject.slice(place.group.length + 1)] : [],
  )
  const all = [...new Set([...ids, ...run])]
  const { events: ofStore, records } = await HISTORY_OF[TERMS[cell.strategy].store](context, all)
  const seen = recorder.events.map((event) =>
    event.f === 'copy' ? withDeadLetter(event, context, deadLetters) : event,
  )
  const claims = ofStore.filter((event) => event.f === 'claim')
  const events = [...seen, ...ofStore].map((event) => withToken(event, claims)).toSorted((a, b) => a.at - b.at)
  return { events, end: { isDrained, unsettled, records, at: trueMs() } }
}

/** Marks of the target that its store holds now. */
export async function gatherMarks(context: CellContext): Promise<readonly EventOf<'mark'>[]> {
  const { events } = await HISTORY_OF[TERMS[context.cell.strategy].store](context, [context.target.id])
  return events.filter((event) => event.f === 'mark')
}

const HISTORY_OF: Readonly<Record<StoreName, (context: CellContext, ids: readonly string[]) => Promise<StoreHistory>>> =
  {
    inbox: inboxHistory,
    offsets: offsetsHistory,
    'lease on postgres': postgresLeaseHistory,
    'lease on redis': redisLeaseHistory,
  }

/** A handler knows only the fence of its claim. */
function withToken(event: HistoryEvent, claims: readonly EventOf<'claim'>[]): HistoryEvent {
  if (event.f !== 'hstart' && event.f !== 'hend' && event.f !== 'effect') return event
  const claim = claims.findLast(
    ({ subject, fence, at }) => subject === event.subject && String(fence) === event.token && at <= event.at,
  )
  return claim === undefined ? event : { ...event, token: claim.token }
}

/** Adds the reason that the dead letter carries. */
function withDeadLetter(event: EventOf<'copy'>, { sends, place }: CellContext, deadLetters: readonly DeadLetter[]) {
  const deadLetter = deadLetters.find(({ send }) => place.placeOf(sends.numberOf(send) ?? -1) === event.place)
  return deadLetter === undefined ? event : { ...event, parked: deadLetter.isParked, reason: deadLetter.reason }
}
