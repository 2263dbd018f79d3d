import type { Key, MarkVerdict, OwnerToken, SetAsideVerdict } from '../../../src/spi.ts'
import type { TriedItem } from '../../sql/bytes.ts'
import type { HoldingBack, Ledger, MarkingFailure, Replacement, Results, SettingAside } from '../ledger.ts'
import { markFailure } from './mark-failure.ts'
import type { Place } from '../place.ts'
import { setKeysAside } from './set-keys-aside.ts'
import { forgetAttempts } from './statements/forget-attempts.ts'
import { holdBack } from './statements/hold-back.ts'
import { keepResults } from './statements/keep-results.ts'
import { refundAttempts, refundLostAttempts } from './statements/refund-attempts.ts'
import { removeHeld, removeKeys } from './statements/remove-keys.ts'
import type { Script } from '../statements/statement.ts'
import { whatWasCommitted } from './what-was-committed.ts'

/** The claim has inserted the rows already, so the mark is only the COMMIT, plus the results if there are any. */
export class InboxLedger implements Ledger {
  readonly #place: Place
  readonly #token: OwnerToken
  readonly #items: readonly TriedItem[]
  /**
   * Keys of all rows that the claim has inserted, in hex. The rows of keys that it did not grant were removed after the
   * savepoint before the handlers. A release that rolls back to the savepoint must remove them again: committed, they
   * would be torn records.
   */
  readonly #inserted: readonly string[]
  /** Transaction ID of the row versions that the transaction wrote. */
  readonly #transaction: string

  constructor(
    place: Place,
    granted: {
      readonly token: OwnerToken
      readonly items: readonly TriedItem[]
      readonly inserted: readonly string[]
      readonly transaction: string
    },
  ) {
    this.#place = place
    this.#token = granted.token
    this.#items = granted.items
    this.#inserted = granted.inserted
    this.#transaction = granted.transaction
  }

  mark(results: Results): Script {
    const { tables, scope } = this.#place
    const forgotten = forgetAttempts(
      tables,
      scope,
      this.#items.map(({ key }) => key),
    )
    if (results.size === 0) return forgotten
    const kept = this.#items.flatMap(({ key, item }) => {
      const result = results.get(item.key)
      return result === undefined ? [] : [[key, result] as const]
    })
    return { text: `${keepResults(tables, scope, kept).text};\n${forgotten.text}` }
  }

  /** Impossible: the rows are inserted. */
  isTakenOver(): boolean {
    return false
  }

  release(refunded: readonly Key[]): Script {
    const { tables, scope } = this.#place
    const removed = removeKeys(tables, scope, this.#inserted)
    return { text: `${refundAttempts(tables, this.#attemptsOf(refunded)).text};\n${removed.text}` }
  }

  refund(keys: readonly Key[]): Script {
    return refundLostAttempts(this.#place.tables, this.#attemptsOf(keys))
  }

  holdBack(keys: readonly Key[], how: HoldingBack): Record<'inTransaction' | 'afterwards', Script> {
    const { tables, scope } = this.#place
    const afterwards = holdBack(tables, { ...this.#attemptsOf(keys), ...how })
    const removed = removeHeld(tables, scope, this.#inserted)
    return { inTransaction: { text: `${afterwards.text};\n${removed.text}` }, afterwards }
  }

  whatWasCommitted(): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return whatWasCommitted(this.#place, this.#items, this.#transaction)
  }

  setAside(keys: readonly Key[], how: SettingAside, run: Replacement): Promise<readonly SetAsideVerdict[]> {
    const items = this.#stored(keys).map((granted) => ({ ...granted, attempt: granted.attempt - (how.refund ? 1 : 0) }))
    return setKeysAside(this.#place, { items, owner: this.#token, run }, how)
  }

  async markFailure(key: Key, how: MarkingFailure, run: Replacement): Promise<MarkVerdict> {
    const [item] = this.#stored([key])
    if (item === undefined) return 'refused-busy'
    return markFailure(this.#place, { item, owner: this.#token, ...how }, run)
  }

  #attemptsOf(keys: readonly Key[]): Parameters<typeof refundAttempts>[1] {
    return { scope: this.#place.scope, keys: this.#stored(keys).map(({ key }) => key), token: this.#token }
  }

  #stored(keys: readonly Key[]): readonly TriedItem[] {
    const byKey = new Map(this.#items.map((stored) => [stored.item.key, stored]))
    return keys.flatMap((key) => byKey.get(key) ?? [])
  }
}
