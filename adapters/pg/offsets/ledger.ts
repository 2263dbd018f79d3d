import {
  nextAfter,
  StoreError,
  type Key,
  type MarkVerdict,
  type OwnerToken,
  type SetAsideVerdict,
} from '../../../src/internal.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import type { Ledger, Replacement, Results, SettingAside } from '../../sql/ledger.ts'
import type { PgPlace } from '../database.ts'
import { despiteEncoding, stillUnknown } from '../../sql/errors.ts'
import { ERRORS, isConflictOfTransactions, isLockTimeout } from '../sql-errors.ts'
import type { Script } from '../statements/statement.ts'
import { refundStarts, shortenStarts } from './statements/attempts.ts'
import { hasNotMoved, movePositions, setOffsetAside, type Move } from './statements/ends.ts'
import { readPositions } from './statements/positions.ts'
import { removeBegun, holdStreams } from './statements/streams.ts'

interface GrantedItem {
  readonly key: Key
  readonly offset: bigint
  readonly timestamp: number | undefined
}

/** The items of a stream that one claim was granted. */
export interface GrantedStream {
  readonly stream: string
  /** The position when it was claimed. */
  readonly next: bigint
  /** In the order of the stream. */
  readonly items: readonly GrantedItem[]
}

const NOT_THE_LAST = 'expected the last claims of a stream to be given back, got earlier ones'

/** The mark moves positions past the handled messages. */
export class OffsetsLedger implements Ledger {
  readonly #place: PgPlace
  readonly #token: OwnerToken
  readonly #streams: readonly GrantedStream[]

  constructor(place: PgPlace, token: OwnerToken, streams: readonly GrantedStream[]) {
    this.#place = place
    this.#token = token
    this.#streams = streams
  }

  mark(_results: Results, givenBack: ReadonlySet<Key>): readonly Script[] {
    const { tables, scope } = this.#place
    const moves: Move[] = []
    for (const { stream, next: from, items: granted } of this.#streams) {
      const items = givenBack.size === 0 ? granted : granted.filter(({ key }) => !givenBack.has(key))
      const last = items.at(-1)
      if (last === undefined) continue
      // The position would pass a message that never began.
      if (last !== granted[items.length - 1]) throw new StoreError('STORE_MISUSED', NOT_THE_LAST)
      const to = nextAfter(items.map(({ offset }) => offset))
      moves.push({ stream, from, to, timestamp: last.timestamp })
    }
    const moved = movePositions(tables, scope, this.#token, moves)
    return givenBack.size === 0 ? [moved, this.#removed()] : [moved, this.refund([...givenBack]), this.#removed()]
  }

  isTakenOver(error: unknown): boolean {
    return hasNotMoved(error)
  }

  release(refunded: readonly Key[]): readonly Script[] {
    return refunded.length === 0 ? [this.#removed()] : [this.refund(refunded), this.#removed()]
  }

  #removed(): Script {
    const streams = this.#streams.map(({ stream }) => stream)
    return removeBegun(this.#place.tables, this.#place.scope, streams)
  }

  /** A stream counts the starts of its messages together: they are given back from its end on. */
  refund(keys: readonly Key[]): Script {
    const { tables, scope } = this.#place
    const refunded = new Set(keys)
    const whole: string[] = []
    const short: { readonly stream: string; readonly until: bigint }[] = []
    for (const { stream, items } of this.#streams) {
      const last = items.findLastIndex(({ key }) => !refunded.has(key))
      const counted = items[last]
      if (counted === undefined) whole.push(stream)
      else if (last < items.length - 1) short.push({ stream, until: counted.offset })
    }
    const ended = { scope, token: this.#token }
    const scripts = [
      ...(whole.length === 0 ? [] : [refundStarts(tables, { ...ended, streams: whole })]),
      ...(short.length === 0 ? [] : [shortenStarts(tables, { ...ended, streams: short })]),
    ]
    return { text: scripts.length === 0 ? 'select' : scripts.map(({ text }) => text).join(';\n') }
  }

  /** Holds the streams again, which succeeds only after the backend of the COMMIT is done. */
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

  /** One message of a stream at a time, the lowest: later messages are not over before it is. */
  async #setAside(key: Key, how: SettingAside, run: Replacement): Promise<SetAsideVerdict> {
    const granted = this.#streams.find(({ items }) => items[0]?.key === key)
    const offset = granted?.items[0]?.offset
    if (granted === undefined || offset === undefined) return 'refused'
    const { tables, scope, sessions } = this.#place
    const { stream, next: from } = granted
    const outcome = how.as === 'given-up' ? 'g' : 'p'
    const { reason, lockTimeoutMs } = how
    const aside = { scope, stream, from, offset, outcome, owner: this.#token, lockTimeoutMs } as const
    try {
      const [written] = await despiteEncoding(ERRORS, { reason }, (texts) =>
        despiteConflicts(() => run(setOffsetAside(tables, { ...aside, ...texts })), isConflictOfTransactions),
      )
      if (written !== undefined) return written.outcome === 'g' ? 'given-up' : 'parked'
    } catch (error) {
      if (isLockTimeout(error)) return 'refused'
      throw error
    }
    const [row] = await sessions.committed(readPositions(tables, scope, [stream]))
    // The call was sent again: the owner token shows whether this claim wrote the record.
    if (row?.outcome == null || row.next !== offset.toString() || row.moved_by !== this.#token) return 'refused'
    return row.outcome === 'g' ? 'given-up' : 'parked'
  }
}
