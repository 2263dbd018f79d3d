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
  /** A consumer in that process. */
  join(process: SimProcess): Source & Publisher
  /** A rebalance, or a channel that is closed. */
  disturb(): void
  /** Delivers once more what is held already. */
  redeliver(): void
  /** Nothing is lost on the way any more, and consumers that are gone are noticed at once. */
  heal(): void
  /** What is neither acked nor below a committed offset. */
  unsettled(): readonly Place[]
}

/** Of a group and an ID, what must share a record and nothing else. */
export function subjectOf(group: string, id: string): Subject {
  return `${group}/${id}`
}
