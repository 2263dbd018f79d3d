import type { ListedItem } from '../../lab/proof/listed-tests.ts'

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
    tests: ['T53', 'T54'],
  },
  {
    item: 'Nothing stays in progress for ever, and 0 is not unset',
    links: [`${POWERTOOLS}/1038`, `${POWERTOOLS}/4759`],
    tests: ['T55', 'T19', 'T56', 'T57'],
  },
  {
    item: 'Consumers that share a table each handle an event',
    links: ['https://github.com/Particular/NServiceBus.NHibernate/issues/117'],
    tests: ['T58', 'T59'],
  },
  {
    item: 'A copy that waits for its retry is no duplicate of itself',
    links: ['https://github.com/Particular/NServiceBus/issues/4993'],
    tests: ['T60', 'T61', 'T62', 'T63'],
  },
  {
    item: 'An effect that failed leaves no mark',
    links: ['https://github.com/Particular/NServiceBus/pull/5557'],
    tests: ['T64', 'T8'],
  },
  {
    item: 'A claim is a write, and one of many has it',
    links: ['https://github.com/MassTransit/MassTransit/issues/3791'],
    tests: ['T65', 'T66', 'T9'],
  },
  {
    item: 'Nothing is committed while a query is pending',
    links: ['https://github.com/MassTransit/MassTransit/issues/4990'],
    tests: ['T67', 'T68', 'T69'],
  },
  {
    item: 'A purge does not run ahead of a rebalance, nor of what the broker can deliver again',
    links: [`${WOLVERINE}/1725`],
    tests: ['T70', 'T71'],
  },
  {
    item: 'A store that is down briefly is waited for, and consumption goes on by itself',
    links: [`${WOLVERINE}/3767`],
    tests: ['T72', 'T73', 'T74'],
  },
  {
    item: 'The mark is durable before the settle',
    links: [`${WOLVERINE}/1708`],
    tests: ['T75', 'T76'],
  },
  {
    item: 'Effect and mark are one transaction',
    links: [`${WOLVERINE}/1677`],
    tests: ['T77', 'T7', 'T78'],
  },
  {
    item: 'A zombie settles nothing of partitions that it has lost, and a refused commit kills nothing',
    links: [`${KAFKAJS}/1046`, `${KAFKAJS}/1097`, `${KAFKAJS}/782`],
    tests: ['T79', 'T80', 'T81', 'T82'],
  },
  {
    item: 'A delivery tag means its own channel only',
    links: ['https://github.com/jwalton/node-amqp-connection-manager/issues/297'],
    tests: ['T83', 'T84'],
  },
  {
    item: 'Lease, retries, retention and the broker’s timeout are checked together, before anything starts',
    links: [`${NOTIFY}/747`, `${NOTIFY}/987`, `${NOTIFY}/3123`, `${NOTIFY}/4228`],
    tests: ['T85', 'T86', 'T87'],
  },
]
