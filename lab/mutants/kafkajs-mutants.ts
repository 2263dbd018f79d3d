import { mutants, type Mutant } from './mutant.ts'

/** Faults of the consumer and the copies on Kafka. */
export const KAFKAJS_MUTANTS: readonly Mutant[] = mutants('unit', {
  'commit-of-the-highest-offset': {
    what: 'What is committed is the highest offset received, not the lowest unfinished one.',
    layer: 'real servers',
    changes: [{ dropOperand: 0 }, { dropOperand: 2 }],
    tests: ['test/kafka/source.test.ts', '-t', 'commits the lowest unfinished offset'],
  },
  'commit-over-what-waits': {
    what: 'What was fetched and waits for room is taken for handled when all before it is.',
    changes: ['remove', { dropOperand: 2 }],
    tests: ['test/unit/kafka/slices.test.ts', '-t', 'is committed up to the first message that waits'],
  },
  'settle-from-an-old-epoch': {
    what: 'A delivery of an earlier assignment epoch is taken for settled in a later one.',
    layer: 'real servers',
    changes: ['remove'],
    tests: ['test/kafka/rebalance.test.ts', '-t', 'ends every epoch'],
  },
  'commit-of-a-lost-partition': {
    what: 'An epoch goes on after the join that took its partition away, and is committed under the new generation.',
    layer: 'real servers',
    changes: ['remove', 'remove'],
    tests: ['test/kafka/rebalance.test.ts', '-t', 'ends every epoch'],
  },
  'kafka-commit-after-a-revocation': {
    what: 'A commit that was refused because the group rebalances is sent again before the join.',
    changes: [{ dropOperand: 1 }],
    tests: ['test/unit/kafka/commits.test.ts', '-t', 'a commit.*ILLEGAL_GENERATION'],
  },
  'kafka-commit-back': {
    what: 'An offset is committed that is lower than what was committed before.',
    changes: ['never'],
    tests: ['test/unit/kafka/commits.test.ts', '-t', 'of an earlier epoch, accepted late'],
  },
  'kafka-floor-forgotten': {
    what: 'A group that tells less than what this process has committed is believed.',
    changes: [{ argument: 1, is: 'undefined' }],
    tests: ['test/unit/kafka/offsets.test.ts', '-t', 'is never taken below what this process committed'],
  },
  'kafka-aborted-not-sorted': {
    what: 'Aborted transactions are taken in the order in which the broker lists them, which is that of their ends.',
    changes: [{ call: ({ on }) => `[...${on}].reverse()` }],
    tests: ['test/unit/kafka/fetch/aborted-transactions.test.ts', '-t', 'are aborted exactly if their transaction was'],
  },
  'kafka-aborted-once-for-a-producer': {
    what: 'Of the aborted transactions of one producer in a fetch only the last one counts, as with @platformatic/kafka (C2).',
    changes: [{ call: ({ on }) => `[...new Map(${on}.map((one) => [one.producerId, one])).values()]` }],
    tests: ['test/unit/kafka/fetch/aborted-transactions.test.ts', '-t', 'are aborted exactly if their transaction was'],
  },
  'kafka-abort-without-end': {
    what: 'What a producer commits after a transaction that it aborted is passed over.',
    changes: ['never'],
    tests: ['test/unit/kafka/fetch/aborted-transactions.test.ts', '-t', 'are aborted exactly if their transaction was'],
  },
  'platformatic-aborted-not-listed': {
    what: 'The list of aborted transactions in a fetch of @platformatic/kafka is not read, and their messages are handed over (C1, C2).',
    layer: 'real servers',
    changes: [{ value: () => '[]' }],
    tests: ['test/platformatic-kafka/aborted.test.ts', '-t', 'also where the marker comes in a later fetch'],
  },
  'kafka-aborted-as-listed': {
    what: 'A broker whose list of aborted transactions is too short is believed, though the abort marker is in the fetch (K29).',
    changes: ['remove'],
    tests: [
      'test/unit/kafka/fetch/aborted-transactions.test.ts',
      '-t',
      'are aborted though the broker does not list them',
    ],
  },
  'kafka-abort-past-compaction': {
    what: 'A committed message is passed over because of the abort marker of a later transaction, where compaction has removed its own.',
    changes: ['never'],
    tests: ['test/unit/kafka/fetch/aborted-transactions.test.ts', '-t', 'that compaction has parted from a marker'],
  },
  'kafka-unchecked-taken': {
    what: 'A message is handled though nobody knows whether its transaction was aborted.',
    layer: 'real servers',
    changes: ['never'],
    tests: ['test/kafka/aborted.test.ts', '-t', 'is checked by runKafka, but not inside'],
  },
  'kafka-jump-taken': {
    what: 'A first batch from a fetch of before the join is taken, and what it jumped over is never read.',
    changes: [{ binary: (act) => `${act} !== 'ask'` }],
    tests: [
      'test/unit/kafka/offsets.test.ts',
      '-t',
      'is dropped when it was skipped to by a fetch from before the join',
    ],
  },
  'kafka-log-not-compared': {
    what: 'Where kafkajs did not find its position, what was committed for a topic that is gone counts for the new one.',
    changes: [{ value: 'undefined' }, { value: 'undefined' }],
    tests: [
      'test/unit/kafka/log-compared.test.ts',
      '-t',
      'is read whole if the last message below what was committed is another one now',
    ],
  },
  'kafka-landmark-not-committed': {
    what: 'A commit names no message, so the next member cannot see that the log is another one.',
    changes: [{ value: 'null' }],
    tests: ['test/unit/kafka/landmarks.test.ts', '-t', 'names the last message below it'],
  },
  'kafka-landmark-not-compared': {
    what: 'What the last member has committed counts for a log that was cut off and has grown again.',
    changes: [{ value: 'undefined' }],
    tests: ['test/unit/kafka/landmarks.test.ts', '-t', 'at a take-over'],
  },
  'kafka-landmark-any': {
    what: 'Whatever message lies at the offset is taken for the one that was there.',
    changes: ['never'],
    tests: ['test/unit/core/landmark.test.ts', '-t', 'a landmark.*another'],
  },
  'kafka-floor-beyond-the-end': {
    what: 'With stored positions, an offset of the group beyond the end keeps everything below it from being committed.',
    changes: ['never'],
    tests: ['test/unit/kafka/stored-starts.test.ts', '-t', 'beyond the end'],
  },
  'kafka-pause-lost-at-a-rebalance': {
    what: 'What is paused is not paused again for partitions that a join brings.',
    layer: 'real servers',
    changes: ['remove'],
    tests: ['test/kafka/rebalance.test.ts', '-t', 'keeps a pause for partitions that come new'],
  },
  'kafka-retry-copy-unconfirmed': {
    what: 'The original is settled before its retry copy is confirmed.',
    layer: 'real servers',
    changes: ['dropAwait'],
    tests: ['test/kafka/retry-copies.test.ts', '-t', 'is refused while its topic takes nothing so large'],
  },
  'kafka-answer-of-send-unread': {
    what: 'The answer to a dead letter is not looked at: kafkajs resolves also where nothing was sent.',
    changes: ['remove'],
    tests: ['test/kafka/dead-letter.test.ts', '-t', 'the answer to a dead letter'],
  },
  'kafka-dead-letter-on-one-replica': {
    what: 'A dead letter counts as soon as the leader has it.',
    changes: [{ argument: 0, is: (sent) => `{ ...${sent}, acks: 1 }` }],
    tests: ['test/kafka/dead-letter.test.ts', '-t', 'is that of all replicas'],
  },
  'kafka-origin-lost': {
    what: 'A copy does not say which topic its message was first published to: its scope, and so its key, is another.',
    layer: 'real servers',
    changes: ['remove'],
    tests: ['test/kafka/retry-copies.test.ts', '-t', 'says where it comes from and when it is due'],
  },
  'kafka-forged-origin-believed': {
    what: 'A message on one topic of a group that names another of them as its origin counts as one of that.',
    layer: 'real servers',
    changes: ['never'],
    tests: ['test/kafka/producer-headers.test.ts', '-t', 'is believed on a retry topic'],
  },
  'kafka-drop-in-resolves-the-unfinished': {
    what: 'A drop-in function resolves what is finished over what is not.',
    layer: 'real servers',
    changes: [
      { call: ({ source }) => `(${source}, true)` },
      { value: (message) => message.replace(/\[.*\]$/, '[arguments[0]]') },
    ],
    tests: ['test/kafka/drop-in-batch.test.ts', '-t', 'commits only what everything below is finished with'],
  },
  'kafka-drop-in-returns-early': {
    what: 'A drop-in function returns as if all of the batch were finished, and kafkajs commits it.',
    changes: ['always'],
    tests: ['test/unit/kafka/drop-in-call.test.ts', '-t', 'after stop.. is an error'],
  },
  'kafka-retry-before-its-time': {
    what: 'A retry copy is handled as soon as it is read.',
    layer: 'real servers',
    changes: ['always'],
    tests: ['test/unit/kafka/retry-delays.test.ts', '-t', 'waits for its delay'],
  },
  'kafka-last-commit-left-out': {
    what: 'What was finished before a stop is not committed, and comes again.',
    layer: 'real servers',
    changes: ['remove'],
    tests: ['lab/kafka/stop.test.ts', '-t', 'in the middle commits exactly the watermark'],
  },
})
