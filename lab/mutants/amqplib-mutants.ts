import { mutants, type Mutant } from './mutant.ts'

/**
 * Faults of the consumer and the copies on RabbitMQ. Where a second look guards the line, it is taken out too: the test must see what
 * the fault does. So it is in the other lists.
 */
export const AMQPLIB_MUTANTS: readonly Mutant[] = mutants('real servers', {
  'ack-on-a-new-channel': {
    what: 'A delivery whose channel is gone is acked on the next one, where its tag is another message.',
    changes: [
      { value: (made) => `globalThis.newestChannel = ${made}` },
      {
        first: (delivery) =>
          `const newest = globalThis.newestChannel; if (newest !== this) return newest.settle(${delivery})`,
      },
      'always',
    ],
    tests: ['lab/rabbitmq/faults.test.ts', '-t', 'ends the standing of what was delivered'],
  },
  'ack-over-the-unfinished': {
    what: 'A multiple ack goes up to the highest finished tag, not to the contiguous one.',
    layer: 'unit',
    changes: [
      {
        call: ({ callee, args: [ticket] }) =>
          `[...Array(${ticket} + 1).keys()].map((below) => ${callee}(below)).includes(true)`,
      },
      'always',
    ],
    tests: ['test/unit/rabbitmq/ack-window.test.ts', '-t', 'sends nothing above an unfinished delivery'],
  },
  'rabbit-publish-unconfirmed': {
    what: 'A message counts as published when it is sent, and its confirm is not waited for.',
    changes: [
      { call: ({ callee, args }) => `void (${args.at(-1)})(null), ${callee}(${args.slice(0, -1).join()}, () => {})` },
    ],
    tests: ['test/rabbitmq/publisher.test.ts', '-t', 'takes a negative confirm for a failure'],
  },
  'rabbit-return-unread': {
    what: 'What no queue takes counts as published: a broker confirms it too.',
    changes: ['remove'],
    tests: ['test/rabbitmq/publisher.test.ts', '-t', 'refuses what no queue takes'],
  },
  'rabbit-copy-in-memory': {
    what: 'What is published does not survive a restart of the broker.',
    changes: [{ value: 'false' }],
    tests: ['test/rabbitmq/publisher.test.ts', '-t', 'publishes persistently, with a stable ID'],
  },
  'rabbit-requeue-without-delay': {
    what: 'A message that failed goes back to its queue at once, again and again.',
    changes: ['always'],
    tests: ['test/rabbitmq/retry.test.ts', '-t', 'goes on in another process'],
  },
  'rabbit-dead-letter-without-a-reason': {
    what: 'A dead letter does not say why it is one.',
    changes: ['remove'],
    tests: ['test/rabbitmq/publisher.test.ts', '-t', 'and says why in headers'],
  },
  'rabbit-origin-lost': {
    what: 'A copy does not say which queue its message first was in: its scope, and so its key, is another.',
    changes: ['remove'],
    tests: ['test/rabbitmq/copies.test.ts', '-t', 'tells attempt, first sight, origin'],
  },
  'rabbit-settled-before-the-copy': {
    what: 'The original is settled before its copy is confirmed.',
    changes: ['dropAwait'],
    tests: ['test/rabbitmq/copies.test.ts', '-t', 'is waited for where it is not declared here'],
  },
  'rabbit-drop-in-acks-for-others': {
    what: 'A drop-in function acks all that was delivered on a channel that others use too.',
    changes: [{ argument: 1, is: 'true' }],
    tests: ['test/rabbitmq/drop-in.test.ts', '-t', 'acks each delivery by a frame of its own'],
  },
  'rabbit-drop-in-settles-after-its-end': {
    what: 'What a cancelled consumer had delivered is settled all the same.',
    changes: [{ dropOperand: 0 }],
    tests: ['test/rabbitmq/drop-in-ends.test.ts', '-t', 'its deliveries are settled no more'],
  },
  'rabbit-drop-in-takes-a-stream': {
    what: 'Deliveries of a stream are handled and acked on a channel of the user.',
    changes: [{ value: 'false' }],
    tests: ['test/rabbitmq/findings/streams.test.ts', '-t', 'handles and acks nothing of a stream'],
  },
  'rabbit-closed-before-its-acks': {
    what: 'The channel is closed right behind its last acks, of which the broker then drops some.',
    changes: ['remove'],
    tests: ['test/rabbitmq/stop.test.ts', '-t', 'finished messages on a quorum queue'],
  },
})
