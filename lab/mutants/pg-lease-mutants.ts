import type { Mutant } from './mutant.ts'

/** Faults of the leases on Postgres. */
export const PG_LEASE_MUTANTS: readonly Mutant[] = [
  {
    name: 'pg-take-over-without-a-fence',
    what: 'The owner that takes over has the fence of the one before.',
    layer: 'real servers',
    changes: [{ text: 'l.fence + 1', is: 'l.fence' }],
    tests: ['test/pg/lease.test.ts', '-t', 'gives each owner a higher fence'],
  },
  {
    name: 'pg-lease-mark-by-anyone',
    what: 'A mark does not compare the owner token.',
    layer: 'real servers',
    changes: [{ text: "or l.state in ('R',", is: "or l.state in ('P', 'R'," }],
    tests: ['test/pg/lease.test.ts', '-t', 'refuses to mark a claim that another owner has taken over'],
  },
  {
    name: 'pg-lease-unlocked',
    what: 'A lease is claimed as it was seen, without a lock: two owners are granted it at once.',
    layer: 'real servers',
    changes: [{ text: ' for update', is: '' }],
    tests: ['test/pg/lease-rivals.test.ts', '-t', 'sees what it has waited for, and not what it began with'],
  },
  {
    name: 'pg-doubt-shared',
    what: 'A lease that ran out is taken over by a claim that is not alone.',
    layer: 'real servers',
    changes: [{ text: 'l.lease_until <= start.now and $8::boolean', is: 'l.lease_until <= start.now' }],
    tests: ['test/pg/lease.test.ts', '-t', 'answers in-doubt to a claim that is not alone'],
  },
  {
    name: 'pg-renewal-by-anyone',
    what: 'A renewal does not compare the owner token.',
    layer: 'real servers',
    changes: [{ call: () => `"l.state = 'P'"` }],
    tests: ['test/pg/lease.test.ts', '-t', 'renews nothing for a stranger'],
  },
  {
    name: 'pg-lease-release-by-anyone',
    what: 'A release does not compare the owner token.',
    layer: 'real servers',
    changes: [{ text: /when \$\{[^}]*\} then 'released'/, is: "when l.state = 'P' then 'released'" }],
    tests: ['test/pg/lease.test.ts', '-t', 'releases nothing for a stranger'],
  },
]
