import {
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
import { hexOf, keyOf } from '../../sql/bytes.ts'
import type { Database } from '../../sql/database.ts'
import { answered } from '../../sql/errors.ts'
import type { MysqlPlace } from '../database.ts'
import { Purge } from '../purge.ts'
import { ERRORS } from '../sql-errors.ts'
import { auditDecision } from '../statements/audit.ts'
import { listLeases, readLeases, type LeaseRow } from './statements/records.ts'
import { recordOf } from './lease-record.ts'
import { moveRecords } from './move.ts'

/** Operations for people on leases. */
export class LeaseAdmin implements StoreAdmin {
  readonly #database: Pick<Database<MysqlPlace, unknown>, 'placeOf'>
  /** By scope: the pass of each. */
  readonly #purges = new Map<string, Purge>()

  constructor(database: Pick<Database<MysqlPlace, unknown>, 'placeOf'>) {
    this.#database = database
  }

  peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return answered(ERRORS, 'peek', async () => {
      if (keys.length === 0) return []
      const { sessions, tables, scope: id } = await this.#database.placeOf(scope)
      const rows = await sessions.committed(readLeases(tables, id, keys.map(hexOf)))
      const views = new Map<string | null, RecordView>(
        rows.map((row) => [row.k, row.k === null ? { state: 'absent' } : seen(row as LeaseRow, row.now_ms)]),
      )
      return keys.map((key) => views.get(hexOf(key)) ?? { state: 'absent' })
    })
  }

  list(scope: string, { state, limit, after }: ListQuery): Promise<RecordPage> {
    return answered(ERRORS, 'list', async () => {
      const { sessions, tables, scope: id } = await this.#database.placeOf(scope)
      const page = { scope: id, state, after: after === undefined ? '' : hexOf(after), limit: limit + 1 }
      const rows = await sessions.committed(listLeases(tables, page))
      const records = rows.slice(0, limit).map((row) => ({ key: keyOf(row.k), ...seen(row, row.now_ms) }))
      return { records, next: rows.length > limit ? records.at(-1)?.key : undefined }
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

  /** Each record has its own end. */
  purge(scope: string, { limit }: Purging): Promise<Purged> {
    return answered(ERRORS, 'purge', async () => {
      const place = await this.#database.placeOf(scope)
      const purge = this.#purges.get(scope) ?? new Purge(place.sessions, place.scope)
      this.#purges.set(scope, purge)
      const isOver = 'keep_until is not null and keep_until <= utc_timestamp(6)'
      return purge.step({ table: place.tables.lease, isOver }, limit)
    })
  }

  #decide(scope: string, keys: readonly Key[], decision: Decision, why: Why): Promise<readonly DecideVerdict[]> {
    return answered(ERRORS, decision, async () => {
      if (keys.length === 0) return []
      const place = await this.#database.placeOf(scope)
      const command = { command: 'decide', decision, retentionMs: why.retentionMs } as const
      const moves = keys.map((key) => ({ key: hexOf(key), command }))
      const moved = await moveRecords(place, moves, (all) => {
        const decided = all.filter(({ verdict }) => verdict === 'decided')
        return auditDecision(place.tables, place.scope, decided, { ...why, decision })
      })
      return moved.map(({ verdict }) => verdict as DecideVerdict)
    })
  }
}

function seen(row: LeaseRow, now: number | string): RecordView {
  return viewOf(recordOf(row), Number(now))
}
