import type { Key } from '../core/record.ts'
import type { ReplayItem } from '../ports/replay.ts'
import type { JournalEntry, JournalIntent } from './journal.ts'
import { refused } from './place.ts'
import type { Totals } from './run-state.ts'

export interface Journalled {
  readonly replay: string
  readonly name: string
  readonly lines: readonly string[]
  /** Messages of a queue are known by their key: their positions mean nothing any more. */
  readonly isByKey: boolean
  /** Totals of the journal before these lines. */
  readonly before: Totals
}

/** What earlier runs of the plan wrote. Each message gets one entry, whatever was killed in between. */
export class Resumed {
  readonly totals: Totals
  /** The highest position that has a line, by part. */
  readonly upTo: ReadonlyMap<string, bigint>
  readonly #entries = new Map<string, JournalEntry>()
  readonly #intents = new Set<Key>()
  readonly #isByKey: boolean
  readonly #withoutKey: JournalEntry[] = []

  /** @throws ReplayError `REPLAY_REFUSED` for the journal of another replay */
  constructor({ replay, name, lines, isByKey, before }: Journalled) {
    this.#isByKey = isByKey
    const totals = { ...before }
    const upTo = new Map<string, bigint>()
    for (const line of lines) {
      const entry = JSON.parse(line) as JournalEntry | JournalIntent
      if (entry.replay !== replay) {
        throw refused(`journal ${name} has messages of replay ${entry.replay}, not of ${replay}: name another file`)
      }
      const position = BigInt(entry.position)
      if (position >= (upTo.get(entry.part) ?? 0n)) upTo.set(entry.part, position)
      if ('intends' in entry) {
        this.#intents.add(entry.key)
        continue
      }
      totals[entry.outcome]++
      if (!isByKey) this.#entries.set(placeOf(entry), entry)
      else if (entry.key === undefined) this.#withoutKey.push(entry)
      else this.#entries.set(entry.key, entry)
    }
    this.totals = totals
    this.upTo = upTo
  }

  /** Call it once for each message. */
  entryOf(item: ReplayItem, key: Key | undefined): JournalEntry | undefined {
    if (!this.#isByKey) return this.#entries.get(placeOf(item))
    // Only the number of messages without a key is known.
    return key === undefined ? this.#withoutKey.pop() : this.#entries.get(key)
  }

  /** An earlier run was about to forget its record. */
  isIntended(key: Key): boolean {
    return this.#intents.has(key)
  }
}

function placeOf({ part, position }: { readonly part: string; readonly position: string }): string {
  return `${part}@${position}`
}
