import { cellsOf, type Guarantee } from './guarantee.ts'

const CRASH = 'lab/pg/lease-crash.test.ts'
const FROZEN = 'lab/kafka/frozen.test.ts'
const LOST_ITS_LEASE = 'has lost its lease: it settles nothing, commits nothing back, and joins again by itself: %s'

export const LEASE_ON_POSTGRES: Guarantee = {
  strategy: '`lease` on Postgres',
  claims: [
    {
      says: 'no',
      tests: [
        [CRASH, 'ends as its policy says: %s'],
        [
          'lab/pg/server-faults.test.ts',
          'answers a lease nothing for longer than it lasts: its mark is unknown, and stands afterwards',
        ],
      ],
      faults: cellsOf('lease-postgres', 'F1 F4 F10 F18 F19'),
      simulated: 'lease, rerun',
      models: ['rerun', 'rerun-full', 'rerun-two-crashes', 'rerun-three-workers'],
    },
    {
      says: 'as on Redis',
      tests: [
        [CRASH, 'ends as its policy says: %s'],
        [FROZEN, LOST_ITS_LEASE],
        [
          'lab/stores/lease-late-owners.test.ts',
          'is aborted before another process can take over, when it is cut off from its store',
        ],
      ],
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*', 'F18.*.lease-postgres.*'],
      simulated: 'lease, rerun',
    },
    {
      says: 'yes',
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*'],
      notShown: 'A database apart from a provider: a lease has no `ctx.tx`, also where its records are in Postgres.',
    },
    {
      says: 'yes',
      tests: [[CRASH, 'ends as its policy says: %s']],
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*', 'F4.S3.lease-postgres.*'],
      simulated: 'lease, rerun',
      models: ['rerun-twice'],
    },
  ],
  breaksWhen: [
    {
      says: 'crash between effect and mark',
      tests: [[CRASH, 'ends as its policy says: %s']],
      faults: ['F1.S3.lease-postgres.*', 'F1.S4.lease-postgres.*'],
      models: ['rerun-twice'],
    },
    { says: 'pause > lease', tests: [[FROZEN, LOST_ITS_LEASE]], models: ['rerun-twice-no-crash'] },
    {
      says: 'failover to an asynchronous replica loses the mark',
      tests: [
        [
          'testing/contract/store/lease-mark-laws.ts',
          'starts again at the first fence and attempt once the store has lost a record',
        ],
      ],
      notShown: 'The failover itself under a lease: it is done to `inbox` and `offsets`.',
    },
  ],
}
