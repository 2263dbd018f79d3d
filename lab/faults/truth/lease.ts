import type { HistoryEvent } from '../../../testing/history.ts'
import { keyOf } from '../identity.ts'
import type { LeaseRow } from '../stage/postgres-side.ts'
import type { CellContext } from '../worker/worker.ts'
import { eventsOfRecord, type LeaseWrite } from './lease-writes.ts'
import { leaseWriteOf } from './redis-records.ts'
import { subjectOf, type StoreHistory } from './store-history.ts'

export async function redisLeaseHistory(context: CellContext, ids: readonly string[]): Promise<StoreHistory> {
  const { redis } = context.stage
  const written = await redis.writtenUnder(context.prefix)
  return leaseHistory(context, ids, async (key) => {
    const ofKey = written.filter(({ name }) => name.endsWith(`:${key}`))
    const isKept = (await redis.record(context.prefix, key)) !== undefined
    return { writes: ofKey.map(leaseWriteOf), isKept }
  })
}

export async function postgresLeaseHistory(context: CellContext, ids: readonly string[]): Promise<StoreHistory> {
  return leaseHistory(context, ids, async (key) => {
    const rows = await context.stage.postgres.leaseWrites(key)
    return { writes: rows.map(leaseWriteOfRow), isKept: true }
  })
}

interface Kept {
  readonly writes: readonly LeaseWrite[]
  /** The last write is still there. */
  readonly isKept: boolean
}

async function leaseHistory(
  context: CellContext,
  ids: readonly string[],
  readKey: (key: string) => Promise<Kept>,
): Promise<StoreHistory> {
  const { stage, place, prefix } = context
  const events: HistoryEvent[] = []
  const records = new Map<string, LeaseWrite['state']>()
  for (const id of ids) {
    const subject = subjectOf(context, id)
    const { writes, isKept } = await readKey(keyOf(place.group, place.origin, id))
    const last = writes.at(-1)
    if (isKept && last !== undefined) records.set(subject, last.state)
    events.push(...eventsOfRecord(writes, subject))
  }
  for (const { at, id, token, isAccepted } of await stage.provider.effects(prefix)) {
    const head = { at, proc: 'provider', f: 'effect', subject: subjectOf(context, id), token } as const
    events.push({ ...head, kind: 'attempt' })
    if (isAccepted) events.push({ ...head, kind: 'accepted' })
  }
  return { events, records }
}

const STATES = { P: 'processing', R: 'released', D: 'done', G: 'given-up', X: 'parked' } as const

function leaseWriteOfRow({ at, state, fence, attempts, doubt, owner, rest, ...row }: LeaseRow): LeaseWrite {
  const until = state === 'P' ? row.lease_until : row.keep_until
  const named = { state: STATES[state], fence, attempt: attempts, doubt, owner }
  return { at, proc: 'postgres', ...named, until, reason: rest }
}
