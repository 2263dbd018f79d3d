import { cellsOf, type Guarantee } from './guarantee.ts'

const CLAIM_LAWS = 'testing/contract/store/lease-claim-laws.ts'

export const LEASE_ON_REDIS: Guarantee = {
  strategy: '`lease` on Redis',
  claims: [
    {
      says: 'no',
      tests: [
        ['lab/kafka/crash.test.ts', 'between effect, mark, set-aside, dead letter and commit loses nothing: %s'],
        ['lab/rabbitmq/crash.test.ts', 'loses nothing, and repeats no more than its strategy says: %s, %s queue'],
      ],
      faults: cellsOf('lease-rerun', 'F1 F2 F3 F4 F5 F6 F7 F8 F9 F12 F13 F14 F15 F16 F17 F18 F19 F20 F21'),
      simulated: 'lease, rerun',
      models: ['rerun', 'rerun-full', 'rerun-two-crashes', 'rerun-three-workers', 'redrive-rerun', 'liveness-drained'],
    },
    {
      says: 'after a crash, a pause longer than the lease, or being cut off from the store for longer than the lease',
      tests: [
        [
          'test/unit/pipeline/leases.test.ts',
          'is renewed while its handler runs, so that nobody takes over, and no longer',
        ],
        [
          'test/unit/pipeline/leases.test.ts',
          'of %d ms aborts its handler before another process can take it over, with a margin, when the store cannot be reached',
        ],
        [
          'lab/stores/lease-late-owners.test.ts',
          'is aborted before another process can take over, when it is cut off from its store',
        ],
        [CLAIM_LAWS, 'answers busy to every other token while a lease holds, and for how long'],
        [CLAIM_LAWS, 'gives a lease that has run out to a claim that is alone, as taken over'],
      ],
      faults: ['F1.S3.lease-rerun.*', 'F2.S3.lease-rerun.*', 'F15.blocks.lease-rerun.*', 'F18.*.lease-rerun.*'],
      simulated: 'lease, rerun',
      models: ['rerun-twice', 'rerun-twice-no-crash'],
    },
    {
      says: 'yes',
      faults: ['F1.S3.lease-rerun.*', 'F1.S4.lease-rerun.*'],
      notShown:
        'A database apart from a provider: a lease has no `ctx.tx`, so whatever its handler does is external to the mark; the cells count what a provider accepted.',
    },
    {
      says: 'yes',
      tests: [
        [
          'lab/demo/contract.ts',
          'killed, runs again what is in doubt: repeats at most what the handler slots held, counts it, and loses nothing',
        ],
      ],
      faults: ['F1.S3.lease-rerun.*', 'F1.S4.lease-rerun.*', 'F2.S3.lease-rerun.*', 'F4.S3.lease-rerun.*'],
      simulated: 'lease, rerun',
      models: ['rerun-twice', 'rerun-twice-no-crash'],
    },
  ],
  breaksWhen: [
    {
      says: 'crash between effect and mark',
      faults: ['F1.S3.lease-rerun.*', 'F1.S4.lease-rerun.*', 'F1.crowd.lease-rerun.*'],
      models: ['rerun-twice'],
    },
    {
      says: 'pause > lease',
      tests: [
        [
          'lab/stores/lease-late-owners.test.ts',
          'gives what a blocked loop has lost to another process, and refuses the mark that comes after',
        ],
        [
          'lab/kafka/frozen.test.ts',
          'has lost its lease: it settles nothing, commits nothing back, and joins again by itself: %s',
        ],
      ],
      faults: ['F2.S3.lease-rerun.*', 'F2.S4.lease-rerun.*', 'F2.crowd.lease-rerun.*'],
      models: ['rerun-twice-no-crash'],
    },
    {
      says: 'Redis loses the mark',
      tests: [
        ['lab/redis/failures.test.ts', 'marks late what a server knows no more that %s'],
        [
          'lab/redis/failures.test.ts',
          'answers every mark and forgets some of them: what the warning at open is about',
        ],
      ],
      faults: ['F9.S5-*.lease-rerun.*', 'F9.S6-*.lease-rerun.*', 'F9.S7-*.lease-rerun.*'],
    },
  ],
}
