import { mutants, type Mutant } from './mutant.ts'

/** Faults of the leases on Postgres. */
export const PG_LEASE_MUTANTS: readonly Mutant[] = mutants('real servers', {
  'pg-take-over-without-a-fence': {
    what: 'The owner that takes over has the fence of the one before.',
    changes: [{ text: 'l.fence + 1', is: 'l.fence' }],
    tests: ['test/pg/lease.test.ts', '-t', 'gives each owner a higher fence'],
  },
  'pg-lease-mark-by-anyone': {
    what: 'A mark does not compare the owner token.',
    changes: [{ text: "or l.state in ('R',", is: "or l.state in ('P', 'R'," }],
    tests: ['test/pg/lease.test.ts', '-t', 'refuses to mark a claim that another owner has taken over'],
  },
  'pg-lease-unlocked': {
    what: 'A lease is claimed as it was seen, without a lock: two owners are granted it at once.',
    changes: [{ text: ' for update', is: '' }],
    tests: ['test/pg/lease-rivals.test.ts', '-t', 'sees what it has waited for, and not what it began with'],
  },
  'pg-doubt-shared': {
    what: 'A lease that ran out is taken over by a claim that is not alone.',
    changes: [{ text: 'l.lease_until <= start.now and $8::boolean', is: 'l.lease_until <= start.now' }],
    tests: ['test/pg/lease.test.ts', '-t', 'answers in-doubt to a claim that is not alone'],
  },
  'pg-renewal-by-anyone': {
    what: 'A renewal does not compare the owner token.',
    changes: [{ call: () => `"l.state = 'P'"` }],
    tests: ['test/pg/lease.test.ts', '-t', 'renews nothing for a stranger'],
  },
  'pg-lease-release-by-anyone': {
    what: 'A release does not compare the owner token.',
    changes: [{ text: /when \$\{[^}]*\} then 'released'/, is: "when l.state = 'P' then 'released'" }],
    tests: ['test/pg/lease.test.ts', '-t', 'releases nothing for a stranger'],
  },
})
