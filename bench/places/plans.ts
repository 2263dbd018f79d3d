/** Where the messages 0, 1, 2, ... of a topic go; a duplicate goes where its original went, as a producer's retry does. */
export interface TopicPlan {
  readonly partitions: number
  readonly partitionOf: (id: number) => number
  /** How many keys there are; a key stays in one partition if the plan wants it to. */
  readonly keys: number
  /** A fifth of the deliveries repeat an earlier message (duplicates.ts). @defaultValue none does */
  readonly duplicates?: true
  /** The topic of its dead letters is there already, as at every start of a service but the first. @defaultValue it is not */
  readonly deadLetters?: true
}

export interface QueuePlan {
  readonly queueType: 'quorum' | 'classic'
  /** As of a topic. */
  readonly duplicates?: true
}

export type Plan = TopicPlan | QueuePlan

/** Evenly over eight partitions; a key stays in its partition. */
export const NO_DUPLICATES: TopicPlan = { partitions: 8, partitionOf: (id) => id % 8, keys: 10_000 }

/** For a service that has run before. */
export const OF_OLD_SERVICE: TopicPlan = { ...NO_DUPLICATES, deadLetters: true }

/** Eight partitions, a fifth of it duplicates. */
export const EIGHT_PARTITIONS: TopicPlan = { ...NO_DUPLICATES, duplicates: true }

/** Seven of ten in partition 0, whose first message is message 0; the others over three more partitions. */
export const MOST_IN_ONE: TopicPlan = {
  partitions: 4,
  partitionOf: (id) => Math.max(0, (id % 10) - 6),
  keys: 10_000,
}
