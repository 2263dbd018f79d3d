import type {
  DecideVerdict,
  Decision,
  Key,
  ListQuery,
  Purged,
  Purging,
  RecordPage,
  RecordView,
  Resolution,
  StoreAdmin,
  Why,
} from '../../../src/spi.ts'
import { answered } from '../../sql/errors.ts'
import { ERRORS } from '../sql-errors.ts'
import { hexOf, keyOf } from '../../sql/bytes.ts'
import { storable } from '../../sql/errors.ts'
import { isUnstorable } from '../sql-errors.ts'
import { decideLeases } from './statements/decide.ts'
import { findLeases, peekLeases, type LeaseView } from './statements/look.ts'
import { purgeLeases } from './statements/purge.ts'
import { foundIn } from './claim.ts'
import { ask, type LeasePlace } from './lease-place.ts'

/** Records that one statement looks through. It takes well under a second. */
const RECORDS_PER_STEP = 50_000

/** Pages of the table that one purge looks through: 16 MB. */
const PAGES_PER_STEP = 2_000

/** Operations for people on leases. */
export class LeaseAdmin implements StoreAdmin {
  readonly #placeOf: (scope: string) => Promise<LeasePlace>
  /** The page at which the next purge of a scope continues. */
  readonly #purged = new Map<string, number>()

  constructor(placeOf: (scope: string) => Promise<LeasePlace>) {
    this.#placeOf = placeOf
  }

  peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return answered(ERRORS, 'peek', async () => {
      const { sessions, tables, scope: id } = await this.#placeOf(scope)
      const asked = keys.map(hexOf)
      const rows = await sessions.committed(peekLeases(tables, id, asked))
      const views = new Map(rows.map((row) => [row.key, viewOf(row)]))
      return asked.map((key) => views.get(key) ?? { state: 'absent' })
    })
  }

  list(scope: string, { state, limit, after }: ListQuery): Promise<RecordPage> {
    return answered(ERRORS, 'list', async () => {
      const { sessions, tables, scope: id } = await this.#placeOf(scope)
      const found: LeaseView[] = []
      for (let from = after === undefined ? '' : hexOf(after), more = true; more && found.length <= limit;) {
        const step = { scope: id, state, after: from, most: RECORDS_PER_STEP, limit: limit + 1 - found.length }
        const rows = await sessions.committed(findLeases(tables, step))
        for (const row of rows) if (row.key !== null) found.push({ ...row, key: row.key })
        from = rows[0]?.last ?? ''
        more = rows[0]?.looked === RECORDS_PER_STEP
      }
      const records = found.slice(0, limit).map((row) => ({ key: keyOf(row.key), ...viewOf(row) }))
      return { records, next: found.length > limit ? records.at(-1)?.key : undefined }
    })
  }

  resolve(scope: string, keys: readonly Key[], { as, ...why }: Resolution): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, as, why)
  }

  reopen(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, 'reopen', why)
  }

  forget(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, 'forget', why)
  }

  /** A pass through the table takes one call for each step. After the last step the next pass begins. */
  purge(scope: string, { limit }: Purging): Promise<Purged> {
    return answered(ERRORS, 'purge', async () => {
      const { sessions, tables, scope: id } = await this.#placeOf(scope)
      const fromPage = this.#purged.get(scope) ?? 0
      const toPage = fromPage + PAGES_PER_STEP
      const [row] = await sessions.committed(purgeLeases(tables, { scope: id, fromPage, toPage, limit }))
      if (row === undefined || !row.is_alone) return { removed: 0, more: false }
      const { removed, pages } = row
      if (removed === limit) return { removed, more: true }
      const more = toPage < pages
      this.#purged.set(scope, more ? toPage : 0)
      return { removed, more }
    })
  }

  #decide(
    scope: string,
    keys: readonly Key[],
    decision: Decision,
    { by, reason, retentionMs }: Why,
  ): Promise<readonly DecideVerdict[]> {
    return answered(ERRORS, decision, async () => {
      const place = await this.#placeOf(scope)
      const asked = keys.map(hexOf)
      const decided = {
        scope: place.scope,
        lockTimeoutMs: place.lockTimeoutMs,
        keys: [...new Set(asked)],
        decision,
        retentionMs,
        by,
        reason,
      }
      const rows = await ask(place, decideLeases, decided).catch((error: unknown) => {
        if (!isUnstorable(error)) throw error
        return ask(place, decideLeases, { ...decided, by: storable(by), reason: storable(reason) })
      })
      const verdicts = new Map(rows.map(({ key, verdict }) => [key, verdict]))
      // A key without a record is open already. It cannot be made done, because its payload is unknown.
      return asked.map((key) => verdicts.get(key) ?? (decision === 'done' ? 'refused' : 'already'))
    })
  }
}

function viewOf({ state, fence, attempt, left_ms, rest, keep_until: keepUntil, ...row }: LeaseView): RecordView {
  const cause = row.cause ?? undefined
  const aside = { fence, reason: rest, attempt, since: row.since ?? undefined, cause }
  switch (state) {
    case 'processing':
      return { state, fence, attempt, keepUntil, leaseLeftMs: left_ms }
    case 'in-doubt':
    case 'released':
      return { state, fence, attempt, notBefore: row.not_before ?? undefined, cause, keepUntil }
    case 'done':
      return { state, fence, result: rest === '' ? undefined : rest, keepUntil }
    case 'given-up':
      return { state, ...aside, keepUntil }
    case 'parked':
      return { state, ...aside }
    case 'unreadable':
      return { state, found: foundIn(rest) }
  }
}
