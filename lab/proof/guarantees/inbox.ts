import { cellsOf, type Guarantee } from './guarantee.ts'

const EFFECT_LAWS = 'testing/contract/store/inbox-effect-laws.ts'
const CLAIM_LAWS = 'testing/contract/store/inbox-claim-laws.ts'
const FAULTS = 'F1 F2 F3 F4 F5 F6 F7 F10 F12 F13 F14 F15 F17 F18 F19 F20 F21'

export const INBOX: Guarantee = {
  strategy: '`inbox`: effect and mark in one Postgres transaction',
  claims: [
    {
      says: 'no',
      tests: [
        ['lab/kafka/crash.test.ts', 'between effect, mark, set-aside, dead letter and commit loses nothing: %s'],
        ['lab/rabbitmq/crash.test.ts', 'loses nothing, and repeats no more than its strategy says: %s, %s queue'],
        [
          'lab/chaos/kafka.test.ts',
          'loses nothing, does nothing twice and commits nothing too early while workers, brokers and partitions come and go',
        ],
        [
          'lab/chaos/rabbitmq.test.ts',
          'lose nothing, do nothing twice and settle nothing too early while they, the broker and connections come and go',
        ],
        ['lab/pg/flush-ticker.test.ts', 'loses nothing that was marked or told to be done'],
      ],
      faults: cellsOf('inbox', FAULTS),
      simulated: 'inbox',
      models: ['inbox', 'inbox-full', 'inbox-three-workers', 'redrive-inbox', 'flush-ticker', 'liveness-drained'],
    },
    {
      says: 'may start twice',
      tests: [
        [
          'test/unit/pipeline/inbox.test.ts',
          'with one message that fails is rolled back, and each runs again alone: the innocent commit, attempts are right',
        ],
      ],
      faults: ['F1.S3.inbox.*', 'F1.S4.inbox.*', 'F15.throws.inbox.*'],
      simulated: 'inbox',
    },
    {
      says: '**no**',
      tests: [
        [EFFECT_LAWS, 'commits the effect with its mark, once however often that is sent'],
        [EFFECT_LAWS, 'rolls the effect back with a release'],
        [CLAIM_LAWS, 'has one effect of a key, however many claim it at once'],
        [CLAIM_LAWS, 'has one effect of each key, also where batches cross'],
        [
          'lab/kafka/frozen.test.ts',
          'still holds its transaction: nobody else can have the effect, and it happens once',
        ],
      ],
      faults: cellsOf('inbox', `${FAULTS} F16`),
      simulated: 'inbox',
      models: ['inbox', 'inbox-full', 'inbox-three-workers', 'lane-inbox'],
    },
    {
      says: 'yes',
      tests: [
        [
          'test/unit/pipeline/inbox.test.ts',
          'has its effect once, and as often as its handler starts what is done outside of it',
        ],
      ],
    },
  ],
  breaksWhen: [
    {
      says: 'row purged before the last redelivery',
      tests: [['test/pg/admin.test.ts', 'lets a redelivery that comes later than retention run again']],
      models: ['inbox-row-lost'],
    },
    {
      says: 'effect outside `tx`',
      tests: [['test/pg/orm-traps.test.ts', 'TypeORM: a manager of the data source writes outside']],
    },
    {
      says: 'failover to an asynchronous replica loses mark and effect together, after the settle',
      faults: ['F11.S6.inbox.*', 'F11.S7.inbox.*'],
    },
  ],
}
