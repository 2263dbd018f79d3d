import type { DecideVerdict, Decision, Purged, Purging, RecordPage, RecordView, Why } from '../../../src/spi.ts'
import type { AdminCalls } from '../../sql/admin.ts'
import { keyOf } from '../../sql/bytes.ts'
import { storable } from '../../sql/errors.ts'
import { inSteps, type ListedFrom } from '../../sql/in-steps.ts'
import { isUnstorable } from '../sql-errors.ts'
import { foundIn } from './claim.ts'
import { ask, type LeasePlace } from './lease-place.ts'
import { decideLeases } from './statements/decide.ts'
import { importLeases } from './statements/import.ts'
import { findLeases, peekLeases, type LeaseView } from './statements/look.ts'
import { purgeLeases, type PurgedRow } from './statements/purge.ts'
import { PagePass } from '../../sql/page-pass.ts'

/** Pages of the table that one purge looks through: 16 MB. */
const PAGES_PER_STEP = 2_000

/** Operations for people on leases. */
export class LeaseAdmin implements AdminCalls<LeasePlace> {
  /** The passes that are under way, by scope. */
  readonly #passes = new Map<number, PagePass>()

  async peek({ sessions, tables, scope }: LeasePlace, keys: readonly string[]): Promise<Map<string, RecordView>> {
    const rows = await sessions.committed(peekLeases(tables, scope, keys))
    return new Map(rows.map((row) => [row.key, viewOf(row)]))
  }

  async list({ sessions, tables, scope }: LeasePlace, { state, ...page }: ListedFrom): Promise<RecordPage> {
    const { rows, looked, next } = await inSteps<LeaseView>(page, async (step) => {
      const found = await sessions.committed(findLeases(tables, { scope, state, ...step }))
      const [first] = found
      const isFull = first?.looked === step.most
      return {
        rows: found.flatMap((row) => (row.key === null ? [] : [{ ...row, key: row.key }])),
        looked: first?.looked ?? 0,
        last: isFull ? first.last : undefined,
      }
    })
    const records = rows.map((row) => ({ key: keyOf(row.key), ...viewOf(row) }))
    return { records, looked, next: next && keyOf(next) }
  }

  async decide(
    place: LeasePlace,
    keys: readonly string[],
    decision: Decision,
    { by, reason, retentionMs }: Why,
  ): Promise<ReadonlyMap<string, DecideVerdict>> {
    const { scope, lockTimeoutMs } = place
    const decided = { scope, lockTimeoutMs, keys, decision, retentionMs, by, reason }
    const statement = decision === 'import' ? importLeases : decideLeases
    const rows = await ask(place, statement, decided).catch((error: unknown) => {
      if (!isUnstorable(error)) throw error
      return ask(place, statement, { ...decided, by: storable(by), reason: storable(reason) })
    })
    const verdicts = new Map(rows.map(({ key, verdict }) => [key, verdict]))
    // A key without a record is open already. It cannot be made done, because its payload is unknown. An import has
    // written each such key, unless a claim was quicker.
    const ofOthers = decision === 'done' || decision === 'import' ? 'refused' : 'already'
    return new Map(keys.map((key) => [key, verdicts.get(key) ?? ofOthers]))
  }

  /** A pass through the table takes one call for each step. After the last step the next pass begins. */
  async purge({ sessions, tables, scope }: LeasePlace, { limit }: Purging): Promise<Purged> {
    const step = async (from: number, to: number): Promise<PurgedRow | undefined> => {
      const [row] = await sessions.committed(purgeLeases(tables, { scope, fromPage: from, toPage: to, limit }))
      return row?.is_alone === true ? row : undefined
    }
    const known = this.#passes.get(scope)
    const pass = known ?? new PagePass((await step(0, 0))?.pages ?? 0, PAGES_PER_STEP)
    const row = await step(pass.step.from, pass.step.to)
    if (row === undefined) return { removed: 0, more: false }
    const { removed, pages } = row
    const more = removed === limit || pass.goOn(pages)
    if (more) this.#passes.set(scope, pass)
    else this.#passes.delete(scope)
    return { removed, more }
  }
}

function viewOf({ state, fp, fence, attempt, left_ms, rest, keep_until: keepUntil, ...row }: LeaseView): RecordView {
  const cause = row.cause ?? undefined
  const digest = fp === null ? '' : keyOf(fp)
  const since = row.since ?? undefined
  const aside = { digest, fence, reason: rest, attempt, since, cause }
  switch (state) {
    case 'processing':
      return { state, digest, fence, attempt, keepUntil, leaseLeftMs: left_ms }
    case 'in-doubt':
    case 'released':
      return { state, digest, fence, attempt, notBefore: row.not_before ?? undefined, cause, keepUntil }
    case 'done':
      return { state, digest, fence, since, result: rest === '' ? undefined : rest, keepUntil }
    case 'given-up':
      return { state, ...aside, keepUntil }
    case 'parked':
      return { state, ...aside }
    case 'unreadable':
      return { state, found: foundIn(rest) }
  }
}
