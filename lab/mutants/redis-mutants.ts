import { mutants, type Mutant } from './mutant.ts'

/** Bugs in the Redis scripts, and in the code that reads their replies. */
export const REDIS_MUTANTS: readonly Mutant[] = mutants('real servers', {
  'busy-read-as-done': {
    what: 'What another owner is at is settled as a duplicate, as where the null of SET NX is read so.',
    changes: [{ value: "{ verdict: 'done', result: undefined }" }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*answers busy to every other token'],
  },
  'redis-claim-by-anyone': {
    what: 'A claim takes the lease of another owner for its own.',
    changes: [{ dropOperand: 1 }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*answers busy to every other token'],
  },
  'redis-digest-uncompared': {
    what: 'Another payload of a key that is done is taken for the same one.',
    changes: ['remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*answers conflict to another payload of a key that is done'],
  },
  'redis-doubt-forgotten': {
    what: 'A take-over forgets that the effect of the owner before may have happened.',
    changes: ['remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*gives a lease that has run out to a claim that is alone'],
  },
  'redis-mark-by-anyone': {
    what: 'A mark does not compare the owner token.',
    changes: [{ dropOperand: 6 }, 'remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*refuses to mark a claim that another owner has taken over'],
  },
  'redis-mark-without-retention': {
    what: 'What is done is kept for ever.',
    changes: [{ text: /, 'PX', \w+/, is: '' }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*shows each record as it is, in the order of the keys'],
  },
  'redis-release-by-anyone': {
    what: 'A release does not compare the owner token.',
    changes: [{ dropOperand: 1 }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*releases nothing for a stranger'],
  },
  'redis-renewal-by-anyone': {
    what: 'A renewal does not compare the owner token, and gives the lease to whoever asks.',
    changes: [{ dropOperand: 1 }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*renews nothing for a stranger'],
  },
  'redis-parked-forgotten': {
    what: 'What is parked ends with its retention, before a person has seen it.',
    changes: [{ text: /\)$/, is: ", 'KEEPTTL')" }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*unless it is parked'],
  },
  'redis-wait-unread': {
    what: 'With durability replicas, what WAIT answers is not looked at.',
    changes: [{ dropOperand: 1 }],
    tests: ['lab/redis/durability.test.ts', '-t', 'does not know of a mark that no replica has'],
  },
  'redis-duplicate-unconfirmed': {
    what: 'With durability replicas, a duplicate is settled by a mark of another process that no replica has.',
    changes: ['remove'],
    tests: ['lab/redis/durability.test.ts', '-t', 'does not settle a duplicate by a mark of another process'],
  },
  'redis-fence-goes-down': {
    what: 'A late mark takes the fence back to that of an earlier owner.',
    changes: ['remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*keeps the fence of the record in a late mark'],
  },
  'redis-doubt-lost-at-a-release': {
    what: 'A release forgets that the effect may have happened.',
    changes: ['remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*remembers the doubt that a release leaves'],
  },
  'redis-renewal-ends-retention': {
    what: 'A renewal makes a record that never ends.',
    changes: [{ text: ", 'KEEPTTL'", is: '' }],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*when it is renewed or released'],
  },
  'redis-answers-uncounted': {
    what: 'A reply with fewer answers than were asked for is taken as it is.',
    layer: 'unit',
    changes: ['always'],
    tests: ['lab/redis/ioredis-client.test.ts', '-t', 'redisLease over a client that misbehaves'],
  },
  'redis-replay-hold-shared': {
    what: 'A replay is taken while another owner holds it: two people run one plan.',
    changes: ['remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*lets one owner take a replay'],
  },
  'redis-replay-saved-by-anyone': {
    what: 'An owner that lost a replay saves its state over that of the one who took it.',
    changes: ['remove'],
    tests: ['test/redis/store.test.ts', '-t', 'ioredis.*the former one save nothing more'],
  },
  'redis-first-claim-unwritten': {
    what: 'Claims do not write since when the scope is known, so a loss of all data is not noticed.',
    changes: ['remove'],
    tests: ['test/redis/known-since.test.ts', '-t', 'begins anew when all keys are gone'],
  },
  'redis-decides-for-all': {
    what: 'A person decides about the record of another consumer with the same prefix.',
    changes: ['remove'],
    tests: ['test/redis/scopes.test.ts', '-t', 'their own parked messages only'],
  },
  'redis-shows-all-scopes': {
    what: 'What another consumer has parked is shown, and counted, in every scope of the prefix.',
    changes: [{ value: 'view' }],
    tests: ['test/redis/scopes.test.ts', '-t', 'once, for the one whose it is'],
  },
})
