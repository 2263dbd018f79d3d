import type { SourceEvent } from '../../src/index.ts'

/** Tells the intake, for observers and logs, what a source met. `detail` is for people. */
export type Report = (event: KafkaEvent, detail: string) => void

export type KafkaEvent =
  | 'group-joined'
  | 'rebalancing'
  /** kafkajs gave its consumer up; a new one is built. */
  | 'connection-lost'
  | 'rebuilt'
  | 'commit-refused'
  /** A commit was refused that must not be sent: the partition is read again. */
  | 'invariant-broken'
  /** `start: 'latest'`: the group had never committed in this topic. */
  | 'started-at-end'
  /** kafkajs jumped over messages; they are read now. */
  | 'offset-skipped'
  /** kafkajs started a partition anew and wrote an invalid offset into the group; put right. */
  | 'offset-reset'
  /** The broker deleted messages that this group had not received. */
  | 'lost-by-retention'
  /** A topic was truncated or re-created; it is read from its beginning. */
  | 'truncated'
  /** Strategy `offsets`: a partition begins at its stored position, which is not what the group has committed. */
  | 'position-sought'
  /** Strategy `offsets`: the database has lost what was handled already; it is read again. */
  | 'position-rewound'
  /** Strategy `offsets`: the partition ends before its stored position. It is held: not consumed until a person decides. */
  | 'position-beyond-end'
  /** Strategy `offsets`: the last message handled is another one now. The partition is held. */
  | 'position-of-another-log'
  /** Strategy `offsets`: the partition is held, since earlier. */
  | 'position-held'
  /** Strategy `offsets`: the partition was held, and its log is the same after all. */
  | 'position-proven'
  /** Strategy `offsets`: the store did not tell the positions; asked again. */
  | 'positions-unknown'
  /** The broker did not tell the group's offsets or those of a topic; asked again. */
  | 'offsets-unknown'
  /** A partition holds too much, or its next message is not due: only this one is not fetched. */
  | 'partition-paused'
  | 'partition-resumed'
  /** Such a topic was created, or takes no message as large as its source does. */
  | 'dead-letter-topic'
  | 'retry-topic'
  /** A topic of the group does not exist any more. The others are consumed, health is not ready. */
  | 'topic-missing'
  | 'topic-back'
  /** Members of the group, in other processes, run a consumer of another name. Told by the group's leader. */
  | 'consumer-name-differs'
  /** Members of the group are to consume other topics. Told by the group's leader. */
  | 'topics-differ'
  | 'adapter-error'

/** What belongs to a normal day. */
const INFORMS: ReadonlySet<KafkaEvent> = new Set([
  'group-joined',
  'rebalancing',
  'rebuilt',
  'started-at-end',
  'partition-paused',
  'partition-resumed',
  'position-sought',
  'position-proven',
  'dead-letter-topic',
  'retry-topic',
  'topic-back',
])

export function sourceEvent(event: KafkaEvent, detail: string): SourceEvent {
  return { type: 'source', event, detail, ...(INFORMS.has(event) ? {} : { isWarning: true }) }
}
