import {
  viewOf,
  type DecideVerdict,
  type Decision,
  type Purged,
  type Purging,
  type RecordPage,
  type RecordView,
  type Why,
} from '../../../src/spi.ts'
import type { AdminCalls } from '../../sql/admin.ts'
import { keyOf } from '../../sql/bytes.ts'
import { inSteps, type ListedFrom } from '../../sql/in-steps.ts'
import type { MysqlPlace } from '../database.ts'
import { Purge } from '../purge.ts'
import { auditDecision } from '../statements/audit.ts'
import { lookAhead, lookedTo } from '../statements/look-ahead.ts'
import { moveRecords } from './move.ts'
import { recordOf } from './record.ts'
import { listLeases, readLeases, type LeaseRow } from './statements/records.ts'

/** Operations for people on leases. */
export class LeaseAdmin implements AdminCalls<MysqlPlace> {
  /** The passes that are under way, by scope. */
  readonly #purges = new Map<number, Purge>()

  async peek({ sessions, tables, scope }: MysqlPlace, keys: readonly string[]): Promise<Map<string, RecordView>> {
    const rows = await sessions.committed(readLeases(tables, scope, keys))
    return new Map(rows.flatMap((row) => (row.k === null ? [] : [[row.k, seen(row as LeaseRow, row.now_ms)]])))
  }

  async list({ sessions, tables, scope }: MysqlPlace, { state, ...page }: ListedFrom): Promise<RecordPage> {
    const { rows, looked, next } = await inSteps(page, async ({ after, most, limit }) => {
      const [ahead] = await sessions.committed(lookAhead(tables.lease, { scope, after, most }))
      const seenTo = lookedTo(ahead, most)
      const found = await sessions.committed(listLeases(tables, { scope, state, after, upTo: seenTo.last, limit }))
      return { ...seenTo, rows: found.map((row) => ({ ...row, key: row.k })) }
    })
    const records = rows.map((row) => ({ key: keyOf(row.k), ...seen(row, row.now_ms) }))
    return { records, looked, next: next && keyOf(next) }
  }

  async decide(
    place: MysqlPlace,
    keys: readonly string[],
    decision: Decision,
    why: Why,
  ): Promise<ReadonlyMap<string, DecideVerdict>> {
    const command = { command: 'decide', decision, retentionMs: why.retentionMs } as const
    const moves = keys.map((key) => ({ key, command }))
    const moved = await moveRecords(place, moves, (all) => {
      const decided = all.filter(({ verdict }) => verdict === 'decided')
      return auditDecision(place.tables, place.scope, decided, { ...why, decision })
    })
    return new Map(moved.map(({ key, verdict }) => [key, verdict as DecideVerdict]))
  }

  /** Each record has its own end. */
  async purge({ sessions, tables, scope }: MysqlPlace, { limit }: Purging): Promise<Purged> {
    const purge = this.#purges.get(scope) ?? new Purge(sessions, scope)
    this.#purges.set(scope, purge)
    const isOver = 'keep_until is not null and keep_until <= utc_timestamp(6)'
    const purged = await purge.step({ tables, table: 'lease', isOver }, limit)
    if (!purged.more) this.#purges.delete(scope)
    return purged
  }
}

function seen(row: LeaseRow, now: number | string): RecordView {
  return viewOf(recordOf(row), Number(now))
}
