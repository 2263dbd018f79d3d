import type { Key } from '../core/record.ts'
import type { ReplayItem, ReplayRange } from '../ports/replay.ts'

interface Place {
  readonly range: ReplayRange
  /** Logs: the key at each position of a part. */
  readonly positions: Map<string, Key>
  /** Queues, whose positions mean nothing after a reading. */
  readonly keys: Set<Key>
  readonly takes: boolean
}

/** What `redrive` found in a dry run, for the redrive that a person confirms. It is not part of JSON. */
export interface Foreseen {
  readonly scope: string
  /** ID of the redrive that is confirmed with it. */
  readonly id: string
}

/**
 * The dead letters that a dry run would have sent back: what a person has seen, and confirms. A redrive with it sends no others,
 * whatever lies there by then.
 */
export class ForeseenLetters implements Foreseen {
  readonly scope: string
  readonly id: string
  /** `noted` of the lookup. */
  readonly replays: Map<Key, number>
  readonly #places = new Map<string, Place>()

  constructor(scope: string, id: string, replays: Map<Key, number>) {
    this.replays = replays
    this.scope = scope
    this.id = id
  }

  /** The range of a log that was read; `undefined`: nothing of this place would have been sent back. */
  rangeOf(from: string): { readonly range: ReplayRange; readonly takes: boolean } | undefined {
    const place = this.#places.get(from)
    return place === undefined || sizeOf(place) === 0 ? undefined : place
  }

  count(from: string): number {
    const place = this.#places.get(from)
    return place === undefined ? 0 : sizeOf(place)
  }

  has(from: string, item: ReplayItem, key: Key | undefined): boolean {
    const place = this.#places.get(from)
    if (place === undefined || key === undefined) return false
    return place.takes ? place.keys.has(key) : place.positions.get(positionOf(item)) === key
  }

  open(from: string, range: ReplayRange, takes: boolean): void {
    this.#places.set(from, { range, takes, positions: new Map(), keys: new Set() })
  }

  add(from: string, item: ReplayItem, key: Key): void {
    const place = this.#places.get(from)
    if (place?.takes === true) place.keys.add(key)
    else place?.positions.set(positionOf(item), key)
  }

  toJSON(): undefined {
    return undefined
  }
}

function sizeOf({ takes, keys, positions }: Place): number {
  return takes ? keys.size : positions.size
}

function positionOf({ part, position }: ReplayItem): string {
  return `${part} ${position}`
}
