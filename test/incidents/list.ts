import type { ListedItem } from '../../lab/proof/listed-tests.ts'

const HERE = 'test/incidents/incidents.test.ts'

export interface Incident extends ListedItem {
  readonly links: readonly string[]
}

const POWERTOOLS = 'https://github.com/aws-powertools/powertools-lambda-python/issues'
const WOLVERINE = 'https://github.com/JasperFx/wolverine/issues'
const KAFKAJS = 'https://github.com/tulios/kafkajs/issues'
const NOTIFY = 'https://github.com/alphagov/notifications-api/issues'

/** What has happened elsewhere, as a sentence that must hold here. */
export const INCIDENTS: readonly Incident[] = [
  {
    item: 'A lease without a deadline is an error, and a record that lacks one is granted to nobody',
    links: [`${POWERTOOLS}/8386`],
    tests: [
      [HERE, 'a lease of %s is no lease: nothing starts'],
      [HERE, 'a record that lacks its deadline is granted to nobody: %s'],
    ],
  },
  {
    item: 'Nothing stays in progress for ever, and 0 is not unset',
    links: [`${POWERTOOLS}/1038`, `${POWERTOOLS}/4759`],
    tests: [
      [HERE, 'a process that dies leaves a lease that ends, however little was left of it: its message runs again'],
      [
        'testing/contract/store/lease-claim-laws.ts',
        'gives a lease that has run out to a claim that is alone, as taken over',
      ],
      ['test/unit/pipeline/options.test.ts', 'refuses a %s that is no whole number from 1: 0 is not unset'],
      ['test/unit/pipeline/results.test.ts', 'hands %j to the run and to each duplicate of it'],
    ],
  },
  {
    item: 'Consumers that share a table each handle an event',
    links: ['https://github.com/Particular/NServiceBus.NHibernate/issues/117'],
    tests: [
      [HERE, 'each consumer, group and topic handles it, on one %s'],
      [
        'test/unit/pipeline/identify.test.ts',
        'keeps the keys of scopes apart, and one option replaces group, origin and name',
      ],
    ],
  },
  {
    item: 'A copy that waits for its retry is no duplicate of itself',
    links: ['https://github.com/Particular/NServiceBus/issues/4993'],
    tests: [
      [HERE, 'what waits on a retry place is the same message, and runs'],
      [
        'test/unit/pipeline/retry-places.test.ts',
        'does not swallow its own copy, though that comes before the confirmation',
      ],
      [
        'test/kafka/retry-topics.test.ts',
        'has one effect of a message whose original comes again while its copy waits',
      ],
      [
        'test/admin/redrive.test.ts',
        'is found by its ID, also when it went over a retry topic, and runs when its dead letter is moved back after a reopen',
      ],
    ],
  },
  {
    item: 'An effect that failed leaves no mark',
    links: ['https://github.com/Particular/NServiceBus/pull/5557'],
    tests: [
      [HERE, 'a message whose effect failed is not done: nothing is marked, and it runs again'],
      ['testing/contract/store/inbox-effect-laws.ts', 'rolls the effect back with a release'],
    ],
  },
  {
    item: 'A claim is a write, and one of many has it',
    links: ['https://github.com/MassTransit/MassTransit/issues/3791'],
    tests: [
      [HERE, 'a claim of %s is a write: of many at once one is granted'],
      ['testing/contract/store/lease-claim-laws.ts', 'grants each key of crossing batches to one of them'],
      ['testing/contract/store/inbox-claim-laws.ts', 'has one effect of a key, however many claim it at once'],
    ],
  },
  {
    item: 'Nothing is committed while a query is pending',
    links: ['https://github.com/MassTransit/MassTransit/issues/4990'],
    tests: [
      [
        'test/unit/pipeline/inbox.test.ts',
        'is refused its COMMIT while a query is pending, and the message is tried again',
      ],
      [
        'testing/contract/store/inbox-effect-laws.ts',
        'refuses to commit while a query is pending, and commits nothing of it',
      ],
      ['lab/pg/client.test.ts', 'counts an open transaction as a query that was not awaited'],
    ],
  },
  {
    item: 'A purge does not run ahead of a rebalance, nor of what the broker can deliver again',
    links: [`${WOLVERINE}/1725`],
    tests: [
      ['test/unit/pipeline/purge.test.ts', 'is put off by a rebalance, also in the middle'],
      ['test/unit/pipeline/purge.test.ts', 'is warned of once, and the purge keeps what may come again'],
    ],
  },
  {
    item: 'A store that is down briefly is waited for, and consumption goes on by itself',
    links: [`${WOLVERINE}/3767`],
    tests: [
      [HERE, 'deliveries wait for the store, the source pauses, and both go on by themselves'],
      ['test/rabbitmq/run.test.ts', 'stops delivering while the store is down, and resumes by itself'],
      [
        'test/kafka/run.test.ts',
        'pauses while its store is down, longer than its session, stays a member and resumes by itself',
      ],
    ],
  },
  {
    item: 'The mark is durable before the settle',
    links: [`${WOLVERINE}/1708`],
    tests: [
      [HERE, 'the mark is durable before the settle, and while it is not, there is none'],
      ['test/unit/kafka/offsets.test.ts', 'never carry the watermark over messages that were skipped'],
    ],
  },
  {
    item: 'Effect and mark are one transaction',
    links: [`${WOLVERINE}/1677`],
    tests: [
      ['testing/contract/store/inbox-effect-laws.ts', 'shows an effect to nobody before its mark'],
      [
        'testing/contract/store/inbox-effect-laws.ts',
        'commits the effect with its mark, once however often that is sent',
      ],
      ['testing/contract/store/inbox-effect-laws.ts', 'keeps the transactions of two claims apart'],
    ],
  },
  {
    item: 'A zombie settles nothing of partitions that it has lost, and a refused commit kills nothing',
    links: [`${KAFKAJS}/1046`, `${KAFKAJS}/1097`, `${KAFKAJS}/782`],
    tests: [
      ['test/unit/kafka/offsets.test.ts', 'refused with %s waits for the next join, and nothing dies of it'],
      [
        'test/kafka/run.test.ts',
        'lost partition: aborted; it finished all the same, so its new owner meets a duplicate',
      ],
      [
        'test/kafka/rebalance.test.ts',
        'ends every epoch: kept partitions are stale and come again, lost ones are lost, neither can be settled',
      ],
      [
        'lab/kafka/drop-in-zombie.test.ts',
        'a zombie of kafkajs moves the committed offset back (K1), and no effect happens again',
      ],
    ],
  },
  {
    item: 'A delivery tag means its own channel only',
    links: ['https://github.com/jwalton/node-amqp-connection-manager/issues/297'],
    tests: [
      [
        'test/rabbitmq/cuts.test.ts',
        'while handlers run: nothing they say reaches the next channel, whose tags mean other messages',
      ],
      ['test/rabbitmq/hand-back.test.ts', 'is refused once the channel is gone, and nothing is sent'],
    ],
  },
  {
    item: 'Lease, retries, retention and the broker’s timeout are checked together, before anything starts',
    links: [`${NOTIFY}/747`, `${NOTIFY}/987`, `${NOTIFY}/3123`, `${NOTIFY}/4228`],
    tests: [
      [
        'test/unit/rabbitmq/options.test.ts',
        'refuses a consumer timeout that lease or handler outlast, and warns where the default is near',
      ],
      ['test/unit/pipeline/options.test.ts', 'reports all problems at once, each with the name of the consumer'],
      ['test/unit/pipeline/purge.test.ts', 'a retention that is shorter than what the broker can deliver again'],
    ],
  },
]
