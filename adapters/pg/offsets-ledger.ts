import { nextAfter, type Key, type MarkVerdict, type OwnerToken, type SetAsideVerdict } from '../../src/index.ts'
import { despiteConflicts } from './despite-conflicts.ts'
import type { Ledger, Replacement, SettingAside } from './ledger.ts'
import type { Place } from './place.ts'
import { storable } from './set-keys-aside.ts'
import { isLockTimeout, isUnstorable } from './sql-errors.ts'
import { stillUnknown } from './what-was-committed.ts'
import { holdStreams } from './sql/hold-streams.ts'
import { hasNotMoved, movePositions } from './sql/move-positions.ts'
import { readPositions } from './sql/read-positions.ts'
import { refundStarts } from './sql/refund-starts.ts'
import { setOffsetAside } from './sql/set-offset-aside.ts'
import type { Script } from './sql/statement.ts'

interface GrantedItem {
  readonly key: Key
  readonly offset: bigint
  readonly timestamp: number | undefined
}

/** What one claim was granted of a stream. */
export interface GrantedStream {
  readonly stream: string
  /** Where the claim has found it. */
  readonly next: bigint
  /** In their order. */
  readonly items: readonly GrantedItem[]
}

/** Positions that the mark moves behind what was handled. */
export class OffsetsLedger implements Ledger {
  readonly #place: Place
  readonly #token: OwnerToken
  readonly #streams: readonly GrantedStream[]

  constructor(place: Place, token: OwnerToken, streams: readonly GrantedStream[]) {
    this.#place = place
    this.#token = token
    this.#streams = streams
  }

  mark(): Script {
    const moves = this.#streams.map(({ stream, next, items }) => ({
      stream,
      from: next,
      to: nextAfter(items.map(({ offset }) => offset)),
      timestamp: items.at(-1)?.timestamp,
    }))
    return movePositions(this.#place.tables, this.#place.scope, this.#token, moves)
  }

  isTakenOver(error: unknown): boolean {
    return hasNotMoved(error)
  }

  release(refunded: readonly Key[]): Script {
    return this.refund(refunded)
  }

  refund(keys: readonly Key[]): Script {
    const { tables, scope } = this.#place
    const wanted = new Set(keys)
    const refunded = this.#streams.filter(({ items }) => items.some(({ key }) => wanted.has(key)))
    return refundStarts(tables, { scope, token: this.#token, streams: refunded.map(({ stream }) => stream) })
  }

  /** The streams are held again, which only succeeds once the backend that was sent the COMMIT is done with it. */
  async whatWasCommitted(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const { sessions, tables, scope } = this.#place
    const names = this.#streams.map(({ stream }) => stream)
    const { session, rows } = await sessions.begin(holdStreams(tables, scope, names)).catch((cause: unknown) => {
      throw isLockTimeout(cause) ? stillUnknown(cause) : cause
    })
    await session.rollback()
    if (rows.length < names.length) throw stillUnknown()
    const isOurs = rows.some((row) => row.moved_by === this.#token)
    const next = new Map(rows.map((row) => [row.stream, BigInt(row.next ?? 0)]))
    return new Map(
      this.#streams.flatMap(({ stream, items }) =>
        items.map(({ key, offset }): [Key, MarkVerdict] => {
          if (isOurs) return [key, 'already-marked']
          return [key, offset < (next.get(stream) ?? 0n) ? 'refused-done' : 'refused-busy']
        }),
      ),
    )
  }

  async setAside(keys: readonly Key[], how: SettingAside, run: Replacement): Promise<readonly SetAsideVerdict[]> {
    const verdicts: SetAsideVerdict[] = []
    for (const key of keys) verdicts.push(await this.#setAside(key, how, run))
    return verdicts
  }

  /** One of a stream at a time, the lowest: what follows it is not over before it is. */
  async #setAside(key: Key, how: SettingAside, run: Replacement): Promise<SetAsideVerdict> {
    const granted = this.#streams.find(({ items }) => items[0]?.key === key)
    const offset = granted?.items[0]?.offset
    if (granted === undefined || offset === undefined) return 'refused'
    const { tables, scope, sessions } = this.#place
    const { stream, next: from } = granted
    const outcome = how.as === 'given-up' ? 'g' : 'p'
    const { reason, lockTimeoutMs } = how
    const aside = { scope, stream, from, offset, outcome, reason, owner: this.#token, lockTimeoutMs } as const
    try {
      const written = await despiteConflicts(() => run(setOffsetAside(tables, aside)))
      if (written.length > 0) return how.as
    } catch (error) {
      if (isLockTimeout(error)) return 'refused'
      if (!isUnstorable(error)) throw error
      return this.#setAside(key, { ...how, reason: storable(reason) }, run)
    }
    const [row] = await sessions.committed(readPositions(tables, scope, [stream]))
    // Sent again: the owner token says whether the record is this one.
    if (row?.outcome == null || row.next !== offset.toString() || row.moved_by !== this.#token) return 'refused'
    return row.outcome === 'g' ? 'given-up' : 'parked'
  }
}
