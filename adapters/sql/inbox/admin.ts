import { viewOf, type RecordView } from '../../../src/internal.ts'
import type { AdminCalls } from '../admin.ts'
import { keyOf } from '../bytes.ts'
import { inSteps } from '../in-steps.ts'
import { decide } from './decide.ts'
import { OUTCOMES, recordOfAttempts, viewOfRow } from './records.ts'
import type { AttemptRow, InboxPlace } from './statements.ts'

/** Operations for people on an inbox. */
export const INBOX_ADMIN: AdminCalls<InboxPlace<unknown>> = {
  async peek(place, keys) {
    const { sessions, inbox } = place
    const records = await sessions.committed(inbox.read(keys))
    const views = new Map(records.map((record) => [record.key, viewOfRow(record)]))
    const absent = keys.filter((key) => !views.has(key))
    const attempts = absent.length === 0 ? [] : await sessions.committed(inbox.readAttempts(absent))
    for (const row of attempts) views.set(row.key, await viewOfTried(place, row))
    return views
  },

  async list({ inbox }, { state, ...page }) {
    const outcome = OUTCOMES[state]
    // The row of a running message is not visible, and no record of an inbox is ever in doubt.
    if (outcome === undefined) return { records: [], looked: 0, next: undefined }
    const { rows, looked, next } = await inSteps(page, (step) => inbox.list({ ...step, outcome }))
    const records = rows.map((row) => ({ key: keyOf(row.key), ...viewOfRow(row) }))
    return { records, looked, next: next && keyOf(next) }
  },

  decide,

  purge: ({ inbox }, how) => inbox.purge(how),
}

/**
 * An attempt is counted and there is no record: its handler is running, or has failed. Only an attempt to take the row
 * shows which.
 */
async function viewOfTried<Tx>({ sessions, inbox }: InboxPlace<Tx>, row: AttemptRow): Promise<RecordView> {
  const { key, n: attempt } = row
  try {
    const { session } = await sessions.begin(inbox.glance(key))
    await session.rollback()
    const now = (row.not_before ?? 0) - row.wait_ms
    const { state, digest, notBefore, cause } = viewOf(recordOfAttempts(row), now)
    return { state, digest, attempt, notBefore, cause }
  } catch (error) {
    if (!sessions.errors.isLockTimeout(error)) throw error
    return { state: 'processing', attempt }
  }
}
