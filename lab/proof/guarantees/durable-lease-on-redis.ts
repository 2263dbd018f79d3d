import type { Guarantee } from './guarantee.ts'

const AS_ON_REDIS =
  'With these marks: the crash between effect and mark is done to marks in memory, above. A mark that was never sent waits for nobody.'

export const DURABLE_LEASE_ON_REDIS: Guarantee = {
  strategy: "`lease` on Redis, `durability: 'replicas'` or `'fsync'`",
  claims: [
    {
      says: 'no',
      tests: ['T25', 'T26'],
      faults: ['F9.*-failover.lease-replicas.*'],
      models: ['rerun'],
      notShown:
        'Other faults than the failover: they are done to marks in memory, above; claims and settles are the same.',
    },
    {
      says: 'same, fewer after a failover',
      tests: ['T27', 'T28', 'T29'],
      faults: ['F9.*-failover.lease-replicas.*'],
    },
    { says: 'yes', notShown: AS_ON_REDIS },
    { says: 'yes', notShown: AS_ON_REDIS },
  ],
  breaksWhen: [
    {
      says: 'same, without the failover, or the power cut, that was waited for',
      tests: ['T28', 'T26', 'T30'],
      faults: ['F9.*-failover.lease-replicas.*'],
      notShown:
        'A power cut: nothing here loses its power, and Redis is believed when WAITAOF says what the disk has. Redis has WAITAOF from 7.2 on; the tests run it on 8.0, no fault cell does.',
    },
  ],
}
