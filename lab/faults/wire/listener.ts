import type { HistoryEvent } from '../../../testing/history.ts'
import type { Moment } from '../moment.ts'

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
export interface Listener {
  readonly fromClient: (bytes: Buffer) => readonly Seen[]
  readonly fromServer: (bytes: Buffer) => readonly Seen[]
}

export interface Target {
  readonly id: string
  /** Its record's key, as stores name it. */
  readonly key: string
}
