import type { HistoryEvent } from '../../../testing/history.ts'
import type { Moment } from '../cell.ts'

type Untimed<Event> = Event extends unknown ? Omit<Event, 'at' | 'proc'> : never

/** What some bytes between a worker and a server mean. */
export interface Seen {
  readonly moment: Moment
  /** Of the message that the cell is about. */
  readonly isTarget: boolean
  /** What has happened once these bytes have arrived. */
  readonly event?: Untimed<HistoryEvent>
  /** The bytes made so that the server must refuse what they ask for; `undefined`: it cannot be done. */
  readonly refused?: Buffer | undefined
}

/** Hears one connection, each piece of it before the other side gets it. */
export interface Ears {
  readonly fromClient: (bytes: Buffer) => readonly Seen[]
  readonly fromServer: (bytes: Buffer) => readonly Seen[]
}

export interface Target {
  readonly id: string
  /** Its record's key, as stores name it. */
  readonly key: string
}

/** Sends of a cell by their number; the target is the first. A message carries this name to be found between worker and broker. */
export class Sends {
  readonly #cell: string
  readonly #placeOf: (number: number) => string

  constructor(cell: string, placeOf: (number: number) => string) {
    this.#cell = cell
    this.#placeOf = placeOf
  }

  name(number: number): string {
    return `${this.#cell}#${number}`
  }

  /** `undefined` for what is no send of this cell. */
  numberOf(name: string | undefined): number | undefined {
    const [, number] = /#(\d+)$/.exec(name ?? '') ?? []
    return number === undefined ? undefined : Number(number)
  }

  place(number: number): string {
    return this.#placeOf(number)
  }

  /** Numbers of the sends that these bytes carry whole. */
  in(bytes: Buffer): readonly number[] {
    const found = bytes.toString('latin1').matchAll(new RegExp(`${this.#cell}#(\\d+)"`, 'g'))
    return [...new Set([...found].map(([, number]) => Number(number)))]
  }
}
