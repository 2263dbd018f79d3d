import type { DurationMs, Key, MarkVerdict, OwnerToken, SetAsideVerdict } from '../../../src/internal.ts'
import type { HoldingBack, Ledger, MarkingFailure, Replacement, Results, SettingAside } from '../ledger.ts'
import type { Script } from '../session.ts'
import { markFailure } from './mark-failure.ts'
import { setKeysAside, type TriedItem } from './set-keys-aside.ts'
import type { Attempts, InboxPlace } from './statements.ts'
import { whatWasCommitted } from './what-was-committed.ts'

/** The claim has inserted the rows already, so the mark is only the COMMIT, plus the results if there are any. */
export class InboxLedger<Tx> implements Ledger {
  readonly #place: InboxPlace<Tx>
  readonly #token: OwnerToken
  readonly #items: readonly TriedItem[]
  /**
   * Keys of all rows that the claim has inserted, in hex. The rows of keys that it did not grant were removed after the
   * savepoint before the handlers. A release that rolls back to the savepoint must remove them again: committed, they
   * would be torn records.
   */
  readonly #inserted: readonly string[]
  /** `RecordRow.writer` of the rows. */
  readonly #writer: string
  readonly #keepMs: DurationMs

  constructor(
    place: InboxPlace<Tx>,
    granted: {
      readonly token: OwnerToken
      readonly items: readonly TriedItem[]
      readonly inserted: readonly string[]
      readonly writer: string
      readonly keepMs: DurationMs
    },
  ) {
    this.#place = place
    this.#token = granted.token
    this.#items = granted.items
    this.#inserted = granted.inserted
    this.#writer = granted.writer
    this.#keepMs = granted.keepMs
  }

  mark(results: Results, givenBack: ReadonlySet<Key>): readonly Script[] {
    const { inbox } = this.#place
    const kept = new Map<string, string>()
    if (results.size > 0) {
      for (const { key, item } of this.#items) {
        const result = results.get(item.key)
        if (result !== undefined) kept.set(key, result)
      }
    }
    const keys = this.#marked(givenBack).map(({ key }) => key)
    if (givenBack.size === 0) return inbox.mark(keys, kept, this.#keepMs)
    const attempts = this.#attemptsOf([...givenBack])
    return [inbox.remove(attempts.keys), inbox.refund(attempts), ...inbox.mark(keys, kept, this.#keepMs)]
  }

  #marked(givenBack: ReadonlySet<Key>): readonly TriedItem[] {
    return givenBack.size === 0 ? this.#items : this.#items.filter(({ item }) => !givenBack.has(item.key))
  }

  /** Impossible: the rows are inserted. */
  isTakenOver(): boolean {
    return false
  }

  release(refunded: readonly Key[]): readonly Script[] {
    return [this.#place.inbox.refund(this.#attemptsOf(refunded)), this.#removed()]
  }

  refund(keys: readonly Key[]): Script {
    return this.#place.inbox.refundLost(this.#attemptsOf(keys))
  }

  holdBack(keys: readonly Key[], how: HoldingBack): ReturnType<NonNullable<Ledger['holdBack']>> {
    const afterwards = this.#place.inbox.holdBack({ ...this.#attemptsOf(keys), ...how })
    return { inTransaction: [afterwards, this.#removed()], afterwards }
  }

  whatWasCommitted(givenBack: ReadonlySet<Key>): Promise<ReadonlyMap<Key, MarkVerdict>> {
    return whatWasCommitted(this.#place, this.#marked(givenBack), this.#writer)
  }

  setAside(keys: readonly Key[], how: SettingAside, run: Replacement): Promise<readonly SetAsideVerdict[]> {
    const items = this.#stored(keys).map((granted) => ({ ...granted, attempt: granted.attempt - (how.refund ? 1 : 0) }))
    return setKeysAside(this.#place, { items, owner: this.#token, keepMs: this.#keepMs, run }, how)
  }

  async markFailure(key: Key, how: MarkingFailure, run: Replacement): Promise<MarkVerdict> {
    const [item] = this.#stored([key])
    if (item === undefined) return 'refused-busy'
    return markFailure(this.#place, { item, owner: this.#token, keepMs: this.#keepMs, ...how }, run)
  }

  #attemptsOf(keys: readonly Key[]): Attempts {
    return { keys: this.#stored(keys).map(({ key }) => key), token: this.#token }
  }

  #removed(): Script {
    return this.#place.inbox.removeInserted({ keys: this.#inserted, token: this.#token })
  }

  #stored(keys: readonly Key[]): readonly TriedItem[] {
    const byKey = new Map(this.#items.map((stored) => [stored.item.key, stored]))
    return keys.flatMap((key) => byKey.get(key) ?? [])
  }
}
