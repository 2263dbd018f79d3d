import type { Mutant } from './mutant.ts'

/** Faults of the scripts of Redis, and of what is made of their replies. */
export const REDIS_MUTANTS: readonly Mutant[] = [
  {
    name: 'busy-read-as-done',
    what: 'What another owner is at is settled as a duplicate, as where the null of SET NX is read so.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/replies.ts',
        find: '? { verdict, leaseLeftMs: Number(rest) } : undefined',
        replace: "? { verdict: 'done', result: undefined } : undefined",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*answers busy to every other token'],
  },
  {
    name: 'redis-claim-by-anyone',
    what: 'A claim takes the lease of another owner for its own.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/claim.ts',
        find: "local mine = state == 'P' and owner == token",
        replace: "local mine = state == 'P'",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*answers busy to every other token'],
  },
  {
    name: 'redis-digest-uncompared',
    what: 'Another payload of a key that is done is taken for the same one.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/claim.ts',
        find: "  elseif fp ~= digest and fp ~= '' and digest ~= '' then return 'conflict'\n",
        replace: '',
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*answers conflict to another payload of a key that is done'],
  },
  {
    name: 'redis-doubt-forgotten',
    what: 'A take-over forgets that the effect of the owner before may have happened.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/claim.ts',
        find: "      if state == 'P' then doubt = '1' end\n",
        replace: '',
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*gives a lease that has run out to a claim that is alone'],
  },
  {
    name: 'redis-mark-by-anyone',
    what: 'A mark does not compare the owner token.',
    layer: 'real servers',
    patches: [
      { file: 'adapters/redis/lease/scripts/mark.ts', find: "'|0|' .. digest .. owner", replace: "'|0|' .. digest" },
      {
        file: 'adapters/redis/lease/scripts/mark.ts',
        find: "  elseif state == 'P' and owner ~= token then return 'refused-busy'\n",
        replace: '',
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*refuses to mark a claim that another owner has taken over'],
  },
  {
    name: 'redis-mark-without-retention',
    what: 'What is done is kept for ever.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/mark.ts',
        find: "redis.call('SET', KEYS[i], done, 'PX', retention)",
        replace: "redis.call('SET', KEYS[i], done)",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*shows each record as it is, in the order of the keys'],
  },
  {
    name: 'redis-release-by-anyone',
    what: 'A release does not compare the owner token.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/release.ts',
        find: "elseif state ~= 'P' or owner ~= token then",
        replace: "elseif state ~= 'P' then",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*releases nothing for a stranger'],
  },
  {
    name: 'redis-renewal-by-anyone',
    what: 'A renewal does not compare the owner token, and gives the lease to whoever asks.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/renew.ts',
        find: "  if state ~= 'P' or owner ~= token then",
        replace: "  if state ~= 'P' then",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*renews nothing for a stranger'],
  },
  {
    name: 'redis-parked-forgotten',
    what: 'What is parked ends with its retention, before a person has seen it.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/set-aside.ts',
        find: "token .. story, reason }, '|'))\n  return 'parked'",
        replace: "token .. story, reason }, '|'), 'KEEPTTL')\n  return 'parked'",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*unless it is parked'],
  },
  {
    name: 'redis-wait-unread',
    what: 'With durability replicas, what WAIT answers is not looked at.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/durability.ts',
        find: 'if (synced >= 1 && reached >= replicas) return',
        replace: 'if (synced >= 1 && reached >= 0) return',
      },
    ],
    tests: ['lab/redis/durability.test.ts', '-t', 'does not know of a mark that no replica has'],
  },
  {
    name: 'redis-duplicate-unconfirmed',
    what: 'With durability replicas, a duplicate is settled by a mark of another process that no replica has.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/lease.ts',
        find: "if (this.#durability.kind !== 'memory') {",
        replace: 'if (this.#durability.kind === undefined) {',
      },
    ],
    tests: ['lab/redis/durability.test.ts', '-t', 'does not settle a duplicate by a mark of another process'],
  },
  {
    name: 'redis-fence-goes-down',
    what: 'A late mark takes the fence back to that of an earlier owner.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/mark.ts',
        find: "  if state ~= 'A' then done = withFence(done, fence, owned) end\n",
        replace: '',
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*keeps the fence of the record in a late mark'],
  },
  {
    name: 'redis-doubt-lost-at-a-release',
    what: 'A release forgets that the effect may have happened.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/release.ts',
        find: "    if leavesDoubt then doubt = '1' end\n",
        replace: '',
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*remembers the doubt that a release leaves'],
  },
  {
    name: 'redis-renewal-ends-retention',
    what: 'A renewal makes a record that never ends.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/redis/lease/scripts/renew.ts',
        find: "redis.call('SET', key, value, 'KEEPTTL')",
        replace: "redis.call('SET', key, value)",
      },
    ],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*when it is renewed or released'],
  },
  {
    name: 'redis-answers-uncounted',
    what: 'A reply with fewer answers than were asked for is taken as it is.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/redis/lease/replies.ts',
        find: '  return next === own.length ? answers : undefined\n',
        replace: '  return answers\n',
      },
    ],
    tests: ['lab/redis/ioredis-client.test.ts', '-t', 'redisLease over a client that misbehaves'],
  },
]
