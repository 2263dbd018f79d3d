import type { Mutant } from './mutant.ts'

/** Faults of the consumer and the copies on Kafka. */
export const KAFKAJS_MUTANTS: readonly Mutant[] = [
  {
    name: 'commit-of-the-highest-offset',
    what: 'What is committed is the highest offset received, not the lowest unfinished one.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/membership/partition-epoch.ts',
        find: 'return this.#watermark.lowestUnfinished ?? this.#taken',
        replace: 'return this.#taken',
      },
      {
        file: 'adapters/kafkajs/offsets/committer.ts',
        find: ' || this.#isBroken(epoch, offset)',
        replace: '',
      },
    ],
    tests: ['test/kafka/source.test.ts', '-t', 'commits the lowest unfinished offset'],
  },
  {
    name: 'commit-over-what-waits',
    what: 'What was fetched and waits for room is taken for handled when all before it is.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/kafkajs/membership/partition-epoch.ts',
        find: '    if (waiting !== undefined) return BigInt(waiting.offset)\n',
        replace: '',
      },
      {
        file: 'adapters/kafkajs/offsets/committer.ts',
        find: ' || this.#isBroken(epoch, offset)',
        replace: '',
      },
    ],
    tests: ['test/unit/kafka/slices.test.ts', '-t', 'is committed up to the first message that waits'],
  },
  {
    name: 'settle-from-an-old-epoch',
    what: 'A delivery of an earlier assignment epoch is taken for settled in a later one.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/intake/delivery.ts',
        find: 'if (!this.#assignment.isLive(this.#epoch)) return false\n',
        replace: '',
      },
    ],
    tests: ['test/kafka/rebalance.test.ts', '-t', 'ends every epoch'],
  },
  {
    name: 'commit-of-a-lost-partition',
    what: 'An epoch goes on after the join that took its partition away, and is committed under the new generation.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/membership/assignment.ts',
        find: 'this.joins++\n    this.#endAll()\n',
        replace: 'this.joins++\n',
      },
      {
        file: 'adapters/kafkajs/membership/assignment.ts',
        find: 'raise(): void {\n    this.#endAll()\n',
        replace: 'raise(): void {\n',
      },
    ],
    tests: ['test/kafka/rebalance.test.ts', '-t', 'ends every epoch'],
  },
  {
    name: 'kafka-commit-after-a-revocation',
    what: 'A commit that was refused because the group rebalances is sent again before the join.',
    layer: 'unit',
    patches: [{ file: 'adapters/kafkajs/offsets/committer.ts', find: ' && !this.#waitsForJoin', replace: '' }],
    tests: ['test/unit/kafka/offsets.test.ts', '-t', 'a commit.*ILLEGAL_GENERATION'],
  },
  {
    name: 'kafka-commit-back',
    what: 'An offset is committed that is lower than what was committed before.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/kafkajs/offsets/committer.ts',
        find: 'return floor !== undefined && offset < floor ? [] :',
        replace: 'return floor === -1n ? [] :',
      },
    ],
    tests: ['test/unit/kafka/offsets.test.ts', '-t', 'of an earlier epoch, accepted late'],
  },
  {
    name: 'kafka-floor-forgotten',
    what: 'A group that tells less than what this process has committed is believed.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/kafkajs/offsets/batch-gate.ts',
        find: 'expectedAtJoin(committed, floor)',
        replace: 'expectedAtJoin(committed, undefined)',
      },
    ],
    tests: ['test/unit/kafka/offsets.test.ts', '-t', 'is never taken below what this process committed'],
  },
  {
    name: 'kafka-jump-taken',
    what: 'A first batch from a fetch of before the join is taken, and what it jumped over is never read.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/kafkajs/offsets/batch-gate.ts',
        find: "    if (decision.act === 'take') {",
        replace: "    if (decision.act !== 'ask') {",
      },
    ],
    tests: [
      'test/unit/kafka/offsets.test.ts',
      '-t',
      'is dropped when it was skipped to by a fetch from before the join',
    ],
  },
  {
    name: 'kafka-pause-lost-at-a-rebalance',
    what: 'What is paused is not paused again for partitions that a join brings.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/source.ts',
        find: '    this.#committer.joined()\n    this.#applyPause()\n',
        replace: '    this.#committer.joined()\n',
      },
    ],
    tests: ['test/kafka/rebalance.test.ts', '-t', 'keeps a pause for partitions that come new'],
  },
  {
    name: 'kafka-retry-copy-unconfirmed',
    what: 'The original is settled before its retry copy is confirmed.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/copies/publisher.ts',
        find: '    await this.#publish(place, letter, [retryHeaders',
        replace: '    void this.#publish(place, letter, [retryHeaders',
      },
      {
        file: 'adapters/kafkajs/copies/publisher.ts',
        find: 'necessaryRetryHeaders(letter, at)])',
        replace: 'necessaryRetryHeaders(letter, at)]).catch(() => {})',
      },
    ],
    tests: ['test/kafka/retry-copies.test.ts', '-t', 'is refused while its topic takes nothing so large'],
  },
  {
    name: 'kafka-answer-of-send-unread',
    what: 'The answer to a dead letter is not looked at: kafkajs resolves also where nothing was sent.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/kafkajs/copies/confirmed-producer.ts',
        find: '      if (!isConfirmed) throw',
        replace: '      if (isConfirmed === undefined) throw',
      },
    ],
    tests: ['test/kafka/dead-letter.test.ts', '-t', 'the answer to a dead letter'],
  },
  {
    name: 'kafka-dead-letter-on-one-replica',
    what: 'A dead letter counts as soon as the leader has it.',
    layer: 'unit',
    patches: [{ file: 'adapters/kafkajs/copies/confirmed-producer.ts', find: 'acks: -1', replace: 'acks: 1' }],
    tests: ['test/kafka/dead-letter.test.ts', '-t', 'is that of all replicas'],
  },
  {
    name: 'kafka-origin-lost',
    what: 'A copy does not say which topic its message was first published to: its scope, and so its key, is another.',
    layer: 'real servers',
    patches: [{ file: 'adapters/kafkajs/copies/origin.ts', find: '    [ORIGIN_HEADER, topic],\n', replace: '' }],
    tests: ['test/kafka/retry-copies.test.ts', '-t', 'says where it comes from and when it is due'],
  },
  {
    name: 'kafka-drop-in-resolves-the-unfinished',
    what: 'A drop-in function resolves what is finished over what is not.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/drop-in/call.ts',
        find: 'if (!this.#watermark.finish(index) || this.#isLeft) return',
        replace: 'this.#watermark.finish(index)\n    if (this.#isLeft) return',
      },
      {
        file: 'adapters/kafkajs/drop-in/call.ts',
        find: 'this.#handover.messages[this.#watermark.finishedUpTo ?? 0]',
        replace: 'this.#handover.messages[index]',
      },
    ],
    tests: ['test/kafka/drop-in-batch.test.ts', '-t', 'commits only what everything below is finished with'],
  },
  {
    name: 'kafka-drop-in-returns-early',
    what: 'A drop-in function returns as if all of the batch were finished, and kafkajs commits it.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/kafkajs/drop-in/call.ts',
        find: '    if (next === undefined) return\n',
        replace: '    if (next !== null) return\n',
      },
    ],
    tests: ['test/unit/kafka/drop-in-call.test.ts', '-t', 'after stop.. is an error'],
  },
  {
    name: 'kafka-retry-before-its-time',
    what: 'A retry copy is handled as soon as it is read.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/intake/retry-delays.ts',
        find: 'if (leftMs <= 0) continue',
        replace: 'if (leftMs <= delayMs) continue',
      },
    ],
    tests: ['test/unit/kafka/retry-delays.test.ts', '-t', 'waits for its delay'],
  },
  {
    name: 'kafka-last-commit-left-out',
    what: 'What was finished before a stop is not committed, and comes again.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/kafkajs/source.ts',
        find: '    await this.#committer.flush(FLUSH_WITHIN_MS)\n',
        replace: '    void FLUSH_WITHIN_MS\n',
      },
    ],
    tests: ['lab/kafka/stop.test.ts', '-t', 'in the middle commits exactly the watermark'],
  },
]
