import type { HistoryEvent } from '../../../testing/history.ts'
import type { Moment } from '../moment.ts'

type Untimed<Event> = Event extends unknown ? Omit<Event, 'at' | 'proc'> : never

/** Meaning of some bytes between a worker and a server. */
export interface Seen {
  readonly moment: Moment
  /** Whether they belong to the target. */
  readonly isTarget: boolean
  /** The event that happens when these bytes arrive. */
  readonly event?: Untimed<HistoryEvent>
  /** The same bytes, changed so that the server must refuse the request; `undefined`: not possible. */
  readonly refused?: Buffer | undefined
}

/** Reads one connection, each piece before the other side gets it. */
export interface Listener {
  readonly fromClient: (bytes: Buffer) => readonly Seen[]
  readonly fromServer: (bytes: Buffer) => readonly Seen[]
}

export interface Target {
  readonly id: string
  /** Its record's key, as stores name it. */
  readonly key: string
}
