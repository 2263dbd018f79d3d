import type { Publisher, Source } from '../../src/ports/source.ts'
import type { Place, Subject } from '../history.ts'
import type { SimProcess } from './process.ts'

/** A message as its producer knows it. */
export interface SimMessage {
  /** `undefined`: the producer forgot it. */
  readonly id: string | undefined
  readonly print: string
  /** Its ordering key. */
  readonly key: string | null
}

/** A broker with one topic or queue for one group, and with faults of its own. */
export interface SimBroker {
  readonly system: 'log' | 'queue'
  readonly group: string
  publish(message: SimMessage): void
  /** Creates a consumer in that process. */
  join(process: SimProcess): Source & Publisher
  /** A rebalance, or a closed channel. */
  disturb(): void
  /** Closes the connection of that process, which opens a new one. */
  cut(process: SimProcess): void
  /** Delivers unsettled messages once more. */
  redeliver(): void
  /** From now on no message is lost on the way, and dead consumers are noticed at once. */
  heal(): void
  /** Messages that are neither acked nor below a committed offset. */
  unsettled(): readonly Place[]
}

/** The subject of a group and an ID: it identifies one record. */
export function subjectOf(group: string, id: string): Subject {
  return `${group}/${id}`
}
