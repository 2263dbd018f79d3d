import {
  StoreError,
  type Key,
  type MarkVerdict,
  type OwnerToken,
  type DurationMs,
  type Reason,
  type Result,
  type SetAsideOptions,
  type SetAsideVerdict,
} from '../../../src/spi.ts'
import { inKeyOrder, type StoredItem } from '../../sql/bytes.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import type { Place } from '../place.ts'
import { isLockTimeout, mayPassAgain } from '../sql-errors.ts'
import { holdBack, refundAttempts } from './statements/attempts.ts'
import { claimKeys, markKeys, readFlushed, writeRecords, type InboxRow } from './statements/records.ts'
import { fromHex } from '../statements/literals.ts'
import { lastRows, type Script } from '../statements/script.ts'

export interface SettingAside {
  readonly as: 'given-up' | 'parked'
  readonly why: SetAsideOptions
}

export interface MarkingFailure {
  readonly result: Result
  /** An earlier answer was lost: the owner that was quicker may be this same claim. */
  readonly isSentAgain: boolean
}

/** Runs a script that commits by itself. The first one ends the transaction. */
export type Replacement = <Row>(script: Script<Row>) => Promise<readonly Row[]>

const VERDICTS: Readonly<Record<string, SetAsideVerdict>> = { c: 'parked', g: 'given-up', p: 'parked' }

/** The writes of one transaction's claims: the rows that the claim has inserted, and their attempts. */
export class InboxLedger {
  readonly #place: Place
  readonly #token: OwnerToken
  readonly #items: ReadonlyMap<Key, StoredItem>
  readonly #attempts: ReadonlyMap<Key, number>

  constructor(
    place: Place,
    {
      token,
      items,
      attempts,
    }: {
      readonly token: OwnerToken
      readonly items: readonly StoredItem[]
      readonly attempts: ReadonlyMap<Key, number>
    },
  ) {
    this.#place = place
    this.#token = token
    this.#attempts = attempts
    this.#items = new Map(inKeyOrder(items).map((stored) => [stored.item.key, stored]))
  }

  /** Runs before the COMMIT. */
  mark(results: ReadonlyMap<Key, Result>): Script {
    const { tables, scope } = this.#place
    const stored = this.#stored()
    const kept = stored.flatMap(({ key, item }): [string, Result][] => {
      const result = results.get(item.key)
      return result === undefined ? [] : [[key, result]]
    })
    return markKeys(
      tables,
      scope,
      stored.map(({ key }) => key),
      new Map(kept),
    )
  }

  /** Gives attempts back, committed by itself. Not those that another claim has counted since. */
  refund(keys: readonly Key[]): Script {
    const { tables, scope } = this.#place
    return refundAttempts(tables, { scope, keys: this.#stored(keys).map(({ key }) => key), owner: this.#token })
  }

  /** Writes the end of the backoff and the cause, committed by itself. */
  holdBack(keys: readonly Key[], delayMs: DurationMs, cause: string | undefined): Script {
    const { tables, scope } = this.#place
    const stored = this.#stored(keys).map(({ key }) => key)
    return holdBack(tables, { scope, keys: stored, owner: this.#token, delayMs, cause })
  }

  /**
   * Finds out the result of a COMMIT whose answer was lost. That its rows are not visible proves nothing, because the
   * server may still commit. So the keys are claimed again, which waits for that transaction, and released at once.
   * That they are visible proves nothing either, because the flush may have stalled: they are read again after a flush.
   *
   * @throws StoreError `STORE_AMBIGUOUS` while the result is unknown
   */
  async whatWasCommitted(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    const { sessions, tables, scope } = this.#place
    const owner = `${this.#token} asks`
    const items = this.#stored()
    const asked = despiteConflicts(() => sessions.begin(claimKeys(tables, { scope, items, owner })), mayPassAgain)
    const { session, sets } = await asked.catch((cause: unknown) => {
      throw isLockTimeout(cause) ? stillUnknown(cause) : cause
    })
    await session.rollback()
    const found = new Map((lastRows(sets) as readonly InboxRow[]).map((row) => [row.k, row]))
    const done = items.flatMap(({ key }) => (found.get(key)?.outcome === 'd' ? [key] : []))
    for (const key of done) found.delete(key)
    const flushed = done.length === 0 ? [] : await sessions.committed(readFlushed(tables, scope, done))
    for (const row of flushed) found.set(row.k, row)
    return new Map(
      items.map(({ item, key }) => {
        const row = found.get(key)
        if (row === undefined) throw stillUnknown()
        return [item.key, this.#markVerdict(row)]
      }),
    )
  }

  async setAside(
    keys: readonly Key[],
    { as, why: { reason, refund = false, cause } }: SettingAside,
    run: Replacement,
  ): Promise<readonly SetAsideVerdict[]> {
    const outcome = as === 'given-up' ? 'g' : 'p'
    const items = this.#stored(keys).map((stored) => {
      const started = this.#attempts.get(stored.item.key) ?? 1
      return { ...stored, attempt: refund ? started - 1 : started }
    })
    const rows = await this.#write(items, { outcome, reason, result: null, cause }, run)
    return this.#stored(keys).map(({ key }) => {
      const row = rows.get(key)
      return row === undefined || !this.#isOurs(row) ? 'refused' : (VERDICTS[row.outcome] ?? 'refused')
    })
  }

  /**
   * Marks without an effect: the handler's writes are rolled back, and the remembered failure is committed instead.
   * Refused if another owner was quicker: nothing of this claim has happened.
   */
  async markFailure(key: Key, { result, isSentAgain }: MarkingFailure, run: Replacement): Promise<MarkVerdict> {
    const [stored] = this.#stored([key])
    if (stored === undefined) return 'refused-busy'
    const row = (await this.#write([stored], { outcome: 'd', reason: null, result }, run)).get(stored.key)
    if (row === undefined && isSentAgain) throw stillUnknown()
    if (row === undefined) return 'refused-busy'
    const verdict = this.#markVerdict(row)
    return verdict === 'already-marked' && !isSentAgain ? 'marked' : verdict
  }

  /** Returns the rows as they are now; none for a key that another owner holds. */
  async #write(
    items: readonly (StoredItem & { readonly attempt?: number })[],
    how: {
      readonly outcome: 'd' | 'g' | 'p'
      readonly reason: Reason | null
      readonly result: Result | null
      readonly cause?: string | undefined
    },
    run: Replacement,
  ): Promise<ReadonlyMap<string, InboxRow>> {
    const { tables, scope } = this.#place
    const script = writeRecords(tables, { scope, items: inKeyOrder(items), owner: this.#token, ...how })
    try {
      return new Map((await despiteConflicts(() => run(script), mayPassAgain)).map((row) => [row.k, row]))
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      const [first, ...others] = items
      if (first === undefined || others.length === 0) return new Map()
      // Another owner holds one of the keys. Alone, each key finds out for itself.
      return new Map([...(await this.#write([first], how, run)), ...(await this.#write(others, how, run))])
    }
  }

  #isOurs({ owner }: InboxRow): boolean {
    return fromHex(owner) === this.#token
  }

  #markVerdict(row: InboxRow): MarkVerdict {
    if (row.outcome !== 'd') return 'refused-busy'
    return this.#isOurs(row) ? 'already-marked' : 'refused-done'
  }

  #stored(keys: readonly Key[] = [...this.#items.keys()]): readonly StoredItem[] {
    return keys.flatMap((key) => this.#items.get(key) ?? [])
  }
}

function stillUnknown(cause?: unknown): StoreError {
  const text = 'the answer to a COMMIT was lost, and its transaction may still be under way'
  return new StoreError('STORE_AMBIGUOUS', text, { cause })
}
