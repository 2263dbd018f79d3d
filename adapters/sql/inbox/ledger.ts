import type { DurationMs, Key, MarkVerdict, OwnerToken, SetAsideVerdict } from '../../../src/internal.ts'
import type { HoldingBack, Ledger, MarkingFailure, Replacement, Results, SettingAside } from '../ledger.ts'
import type { Script } from '../session.ts'
import { markFailure } from './mark-failure.ts'
import { setKeysAside } from './set-keys-aside.ts'
import type { Attempts, InboxPlace, TriedItem } from './statements.ts'
import { whatWasCommitted } from './what-was-committed.ts'

const NONE: readonly string[] = []

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
    const kept = new Map<string, string>()
    if (results.size > 0) {
      for (const { key, item } of this.#items) {
        const result = results.get(item.key)
        if (result !== undefined) kept.set(key, result)
      }
    }
    return this.#place.inbox.mark({
      items: this.#marked(givenBack),
      token: this.#token,
      results: kept,
      keepMs: this.#keepMs,
      givenBack: givenBack.size === 0 ? NONE : this.#stored([...givenBack]).map(({ key }) => key),
    })
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
    const { inbox } = this.#place
    const held = { items: this.#stored(keys), token: this.#token, keepMs: this.#keepMs, ...how }
    return {
      inTransaction: [inbox.holdBack(held, 'in-transaction'), this.#removed()],
      afterwards: inbox.holdBack(held, 'afterwards'),
    }
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
    const stored = this.#stored(keys)
    return {
      keys: stored.map(({ key }) => key),
      token: this.#token,
      isWhole: stored.length === this.#items.length,
    }
  }

  #removed(): Script {
    return this.#place.inbox.removeInserted(this.#inserted, this.#token)
  }

  #stored(keys: readonly Key[]): readonly TriedItem[] {
    const byKey = new Map(this.#items.map((stored) => [stored.item.key, stored]))
    return keys.flatMap((key) => byKey.get(key) ?? [])
  }
}
