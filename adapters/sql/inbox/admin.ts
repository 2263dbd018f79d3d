import {
  ConfigError,
  isSharedBy,
  viewOf,
  type DecideVerdict,
  type Decision,
  type Key,
  type ListQuery,
  type Purged,
  type Purging,
  type RecordPage,
  type RecordView,
  type Resolution,
  type StoreAdmin,
  type Why,
} from '../../../src/spi.ts'
import { hexOf, keyOf } from '../bytes.ts'
import { decide } from './decide.ts'
import { OUTCOMES, recordOfAttempts, viewOfRow } from './records.ts'
import type { AttemptRow, InboxPlace } from './statements.ts'

type Answered = <T>(what: string, ask: () => Promise<T>) => Promise<T>

/** Operations for people on an inbox. */
export class InboxAdmin<Tx> implements StoreAdmin {
  readonly #placeOf: (scope: string) => Promise<InboxPlace<Tx>>
  readonly #answered: Answered

  constructor(placeOf: (scope: string) => Promise<InboxPlace<Tx>>, answered: Answered) {
    this.#placeOf = placeOf
    this.#answered = answered
  }

  peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return this.#answered('peek', async () => {
      if (keys.length === 0) return []
      const place = await this.#placeOf(scope)
      const { sessions, inbox } = place
      const wanted = keys.map(hexOf)
      const records = await sessions.committed(inbox.read(wanted))
      const views = new Map(records.map((record) => [record.key, viewOfRow(record)]))
      const absent = wanted.filter((key) => !views.has(key))
      const attempts = absent.length === 0 ? [] : await sessions.committed(inbox.readAttempts(absent))
      for (const row of attempts) views.set(row.key, await viewOfTried(place, row))
      return wanted.map((key) => views.get(key) ?? { state: 'absent' })
    })
  }

  list(scope: string, { state, limit, after }: ListQuery): Promise<RecordPage> {
    return this.#answered('list', async () => {
      const outcome = OUTCOMES[state]
      // The row of a running message is not visible, and no record of an inbox is ever in doubt.
      if (outcome === undefined) return { records: [], next: undefined }
      const { sessions, inbox } = await this.#placeOf(scope)
      const from = after === undefined ? '' : hexOf(after)
      const rows = await sessions.committed(inbox.list({ outcome, after: from, limit: limit + 1 }))
      const records = rows.slice(0, limit).map((row) => ({ key: keyOf(row.key), ...viewOfRow(row) }))
      return { records, next: rows.length > limit ? records.at(-1)?.key : undefined }
    })
  }

  resolve(scope: string, keys: readonly Key[], { as, ...why }: Resolution): Promise<readonly DecideVerdict[]> {
    return this.#decide('resolve', scope, keys, as, why)
  }

  reopen(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide('reopen', scope, keys, 'reopen', why)
  }

  forget(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide('forget', scope, keys, 'forget', why)
  }

  purge(scope: string, how: Purging): Promise<Purged> {
    return this.#answered('purge', async () => {
      const { sessions, inbox } = await this.#placeOf(scope)
      const [shared] = await sessions.committed(inbox.findShared())
      // A lease has its own end in each record. Here the retention of one consumer would remove records of another.
      if (shared !== undefined) throw new ConfigError([isSharedBy(shared)])
      return inbox.purge(how)
    })
  }

  #decide(
    what: string,
    scope: string,
    keys: readonly Key[],
    decision: Decision,
    why: Why,
  ): Promise<readonly DecideVerdict[]> {
    return this.#answered(what, async () => {
      const wanted = keys.map(hexOf)
      const verdicts = await decide(await this.#placeOf(scope), [...new Set(wanted)].toSorted(), decision, why)
      return wanted.map((key) => verdicts.get(key) ?? 'refused')
    })
  }
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
    const { state, notBefore, cause } = viewOf(recordOfAttempts(row), now)
    return { state, attempt, notBefore, cause }
  } catch (error) {
    if (!sessions.errors.isLockTimeout(error)) throw error
    return { state: 'processing', attempt }
  }
}
