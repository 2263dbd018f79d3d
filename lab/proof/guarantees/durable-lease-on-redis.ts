import type { Guarantee } from './guarantee.ts'

const REPLICAS = 'lab/redis/durability.test.ts'
const FSYNC = 'lab/redis/fsync.test.ts'
const AS_ON_REDIS =
  'With these marks: the crash between effect and mark is done to marks in memory, above. A mark that was never sent waits for nobody.'

export const DURABLE_LEASE_ON_REDIS: Guarantee = {
  strategy: "`lease` on Redis, `durability: 'replicas'` or `'fsync'`",
  claims: [
    {
      says: 'no',
      tests: [
        [REPLICAS, 'does not settle a duplicate by a mark of another process that no replica has'],
        [FSYNC, 'does not know of a mark that the disk has not, and finds it once it has'],
      ],
      faults: ['F9.*-failover.lease-replicas.*'],
      models: ['rerun'],
      notShown:
        'Other faults than the failover: they are done to marks in memory, above; claims and settles are the same.',
    },
    {
      says: 'same, fewer after a failover',
      tests: [
        [REPLICAS, 'loses a mark that was answered from memory: its message runs again'],
        [REPLICAS, 'loses no mark that was answered with replicas: it was not answered'],
        [REPLICAS, 'does not know of a mark that no replica has, and finds it once one has'],
      ],
      faults: ['F9.*-failover.lease-replicas.*'],
    },
    { says: 'yes', notShown: AS_ON_REDIS },
    { says: 'yes', notShown: AS_ON_REDIS },
  ],
  breaksWhen: [
    {
      says: 'same, without the failover, or the power cut, that was waited for',
      tests: [
        [REPLICAS, 'loses no mark that was answered with replicas: it was not answered'],
        [FSYNC, 'does not know of a mark that the disk has not, and finds it once it has'],
        [FSYNC, 'waits for the next sync where that comes once a second'],
      ],
      faults: ['F9.*-failover.lease-replicas.*'],
      notShown:
        'A power cut: nothing here loses its power, and Redis is believed when WAITAOF says what the disk has. Redis has WAITAOF from 7.2 on; the tests run it on 8.0, no fault cell does.',
    },
  ],
}
