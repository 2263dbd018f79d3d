import { SourceEvents } from '../../src/internal.ts'

/** Reports an event of the source to the intake, for observers and logs. `detail` is for people. */
export type Report = (event: KafkaEvent, detail: string) => void

export type KafkaEvent =
  | 'group-joined'
  | 'rebalancing'
  /** Partitions came or went; the others were not interrupted (KIP-848). */
  | 'group-changed'
  /** kafkajs gave up its consumer; a new one is built. */
  | 'connection-lost'
  | 'rebuilt'
  /** Its store has been down for `leaveAfterMs`: it has left the group until the store answers. */
  | 'stepped-aside'
  | 'commit-refused'
  /** A commit was refused because it must not be sent: the partition is read again. */
  | 'invariant-broken'
  /** `startAt: 'latest'`: the group had never committed in this topic. */
  | 'started-at-end'
  /** kafkajs skipped messages; they are read now. */
  | 'offset-skipped'
  /** kafkajs restarted a partition and committed an invalid offset; corrected. */
  | 'offset-reset'
  /** The broker deleted messages that this group had not received. */
  | 'lost-by-retention'
  /** A topic was truncated or re-created; it is read from its beginning. */
  | 'truncated'
  /** Strategy `offsets`: a partition begins at its stored position, which differs from the group's committed offset. */
  | 'position-sought'
  /** Strategy `offsets`: the database has lost messages that were handled already; they are read again. */
  | 'position-rewound'
  /**
   * Strategy `offsets`: the partition ends before its stored position. It is held: not consumed until a person decides.
   */
  | 'position-beyond-end'
  /** Strategy `offsets`: the last message handled is another one now. The partition is held. */
  | 'position-of-another-log'
  /** Strategy `offsets`: the partition has been held since earlier. */
  | 'position-held'
  /** This member has joined again and again without getting on: it looks for the batch that prevents it. */
  | 'standstill'
  /** A record batch takes longer than the session to fetch and decode: its partition is held until a person decides. */
  | 'batch-held'
  /** Strategy `offsets`: the partition was held, but its log is the same after all. */
  | 'position-proven'
  /** Strategy `offsets`: the store did not return the positions; retried. */
  | 'positions-unknown'
  /** The broker did not return the group's offsets or those of a topic; retried. */
  | 'offsets-unknown'
  /** A partition has too much in flight, or its next message is not due: only this one is not fetched. */
  | 'partition-paused'
  | 'partition-resumed'
  /** Such a topic was created, or accepts only smaller messages than its source. */
  | 'dead-letter-topic'
  | 'retry-topic'
  /** A retry topic has copies of another group whose default name for it is the same. They are left to that group. */
  | 'foreign-copies'
  /** A topic of the group no longer exists. The others are consumed, and health is not ready. */
  | 'topic-missing'
  | 'topic-back'
  /** Members of the group, in other processes, run a consumer with another name. Reported by the group's leader. */
  | 'consumer-name-differs'
  /** Members of the group have other topics. Reported by the group's leader. */
  | 'topics-differ'
  /**
   * kafkajs's decoder could not be replaced, so messages of transactions are refused: whether these were aborted is
   * unknown.
   */
  | 'fetch-unchecked'
  | 'adapter-error'

const NORMAL: readonly KafkaEvent[] = [
  'group-joined',
  'rebalancing',
  'group-changed',
  'rebuilt',
  'started-at-end',
  'partition-paused',
  'partition-resumed',
  'position-sought',
  'position-proven',
  'dead-letter-topic',
  'retry-topic',
  'topic-back',
]

export function kafkaEvents(): SourceEvents<KafkaEvent> {
  return new SourceEvents(NORMAL)
}
