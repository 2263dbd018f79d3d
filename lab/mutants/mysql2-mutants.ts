import { mutants, type Mutant } from './mutant.ts'

/** Faults of the stores on MariaDB and MySQL. */
export const MYSQL2_MUTANTS: readonly Mutant[] = mutants('real servers', {
  'mysql-commit-of-another-transaction': {
    what: 'A COMMIT is taken for a mark without a look whether its transaction is still the one that was begun.',
    changes: [{ argument: 0, is: (statements) => `${statements}.slice(1)` }, 'always'],
    tests: ['lab/mysql/transaction.test.ts', '-t', 'and gone on with in a transaction of its own'],
  },
  'mysql-duplicates-before-the-flush': {
    what: 'What others have committed is told to be done before it is on disk.',
    changes: ['always'],
    tests: ['lab/mysql/unflushed.test.ts', '-t', 'is flushed before it is told as done'],
  },
  'mysql-release-commits': {
    what: 'A release commits the effect instead of rolling it back.',
    changes: [{ call: ({ on }) => `${on}.commit([]).then(() => {})` }],
    tests: ['test/mysql/inbox.test.ts', '-t', 'rolls the effect back with a release'],
  },
  'mysql-failed-statement-committed': {
    what: 'What a handler wrote around a failed statement is committed.',
    changes: ['never'],
    tests: ['test/mysql/inbox.test.ts', '-t', 'refuses to commit what a handler wrote after a failed query'],
  },
  'mysql-insert-taken-for-granted': {
    what: 'A row that is there is taken for one that the claim has inserted.',
    changes: [{ text: /(?<=\}) and .*(?=`$)/, is: '' }],
    tests: ['test/mysql/inbox.test.ts', '-t', 'answers done once a claim is marked'],
  },
  'mysql-attempts-not-kept': {
    what: 'A release gives its attempt back, also the attempt of a handler that failed.',
    changes: [{ value: 'true' }],
    tests: ['test/mysql/inbox.test.ts', '-t', 'lets a released key be claimed again, with one more attempt'],
  },
  'session-change-untold': {
    what: 'A store does not tell that a handler has changed the session of a shared transaction: the next handler gets it.',
    changes: [{ value: 'false' }],
    tests: ['test/mysql/inbox.test.ts', '-t', 'tells that a handler has changed the session of its transaction'],
  },
  'mysql-lease-unlocked': {
    what: 'A lease is moved without a lock of its row: two owners move it at once.',
    changes: [{ text: ' for update', is: '' }],
    tests: ['test/mysql/lease.test.ts', '-t', 'grants a released key to one of many'],
  },
  'mysql-lost-reply-taken-for-a-failure': {
    what: 'A COMMIT without an answer is taken for one that never happened.',
    changes: ['never'],
    tests: ['lab/mysql/faults.test.ts', '-t', 'answers already-marked to a mark whose COMMIT has happened'],
  },
})
