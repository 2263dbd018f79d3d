import type { JournalEntry, JournalIntent } from './journal.ts'
import type { ReplayItem } from '../ports/replay.ts'
import type { Totals } from './run-state.ts'

/** What earlier runs of the plan wrote after the checkpoint. Each message gets one entry, whatever was killed in between. */
export class Resumed {
  readonly totals: Totals
  readonly #entries = new Map<string, JournalEntry>()
  readonly #intents = new Set<string>()
  /** Messages of a queue are known by their key: their positions mean nothing any more. */
  readonly #isByKey: boolean

  constructor(lines: readonly string[], isByKey: boolean, before: Totals) {
    this.#isByKey = isByKey
    const totals = { ...before }
    for (const line of lines) {
      const entry = JSON.parse(line) as JournalEntry | JournalIntent
      if ('intends' in entry) {
        this.#intents.add(placeOf(entry))
        continue
      }
      totals[entry.outcome]++
      const name = this.#isByKey ? entry.key : placeOf(entry)
      if (name !== undefined) this.#entries.set(name, entry)
    }
    this.totals = totals
  }

  entryOf(item: ReplayItem, key: string | undefined): JournalEntry | undefined {
    const name = this.#isByKey ? key : placeOf(item)
    return name === undefined ? undefined : this.#entries.get(name)
  }

  /** An earlier run was about to forget its record. */
  isIntended(item: ReplayItem): boolean {
    return this.#intents.has(placeOf(item))
  }
}

function placeOf({ part, position }: { readonly part: string; readonly position: string }): string {
  return `${part}@${position}`
}
