import type { Mutant } from './mutant.ts'

/** Faults of the stores on MariaDB and MySQL. */
export const MYSQL2_MUTANTS: readonly Mutant[] = [
  {
    name: 'mysql-commit-of-another-transaction',
    what: 'A COMMIT is taken for a mark without a look whether its transaction is still the one that was begun.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/sessions/session.ts',
        find: '[...this.#releaseHandler(), BEFORE_COMMIT, ...last.statements',
        replace: '[...last.statements',
      },
      {
        file: 'adapters/mysql2/sessions/session.ts',
        find: 'AS_BEFORE, BEFORE_COMMIT, BEFORE_HANDLER',
        replace: 'AS_BEFORE, BEFORE_HANDLER',
      },
    ],
    tests: ['test/mysql/transaction.test.ts', '-t', 'and gone on with in a transaction of its own'],
  },
  {
    name: 'mysql-duplicates-before-the-flush',
    what: 'What others have committed is told to be done before it is on disk.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/inbox/claim.ts',
        find: 'if (done.length === 0) return',
        replace: 'if (done.length >= 0) return',
      },
    ],
    tests: ['lab/mysql/unflushed.test.ts', '-t', 'is flushed before it is told as done'],
  },
  {
    name: 'mysql-release-commits',
    what: 'A release commits the effect instead of rolling it back.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/inbox/claim-transaction.ts',
        find: 'await this.#session.rollback(told)',
        replace: 'await this.#session.commit({ statements: [] })',
      },
    ],
    tests: ['test/mysql/inbox.test.ts', '-t', 'rolls the effect back with a release'],
  },
  {
    name: 'mysql-failed-statement-committed',
    what: 'What a handler wrote around a failed statement is committed.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/inbox/claim-transaction.ts',
        find: 'if (failure !== undefined) {\n      await',
        replace: 'if (failure === null) {\n      await',
      },
    ],
    tests: ['test/mysql/inbox.test.ts', '-t', 'refuses to commit what a handler wrote after a failed query'],
  },
  {
    name: 'mysql-insert-taken-for-granted',
    what: 'A row that is there is taken for one that the claim has inserted.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/inbox/claim.ts',
        find: "if (row.outcome === 'c' && fromHex(row.owner) === request.token) inserted",
        replace: "if (row.outcome !== 'p') inserted",
      },
    ],
    tests: ['test/mysql/inbox.test.ts', '-t', 'answers done once a claim is marked'],
  },
  {
    name: 'mysql-attempts-in-the-transaction',
    what: 'An attempt is counted in the transaction of the effect: a rollback forgets it.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/inbox/claim.ts',
        find: 'const attempts = await attemptsOf(place, request,',
        replace:
          'const beside = { committed: async (script: never) => lastRows(await session.run((script as { statements: [] }).statements)) }\n    const attempts = await attemptsOf({ ...place, sessions: beside } as never, request,',
      },
    ],
    tests: ['test/mysql/inbox.test.ts', '-t', 'lets a released key be claimed again, with one more attempt'],
  },
  {
    name: 'mysql-lease-unlocked',
    what: 'A lease is moved without a lock of its row: two owners move it at once.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/lease/statements/records.ts',
        find: ' order by \\`key\\` for update`',
        replace: ' order by \\`key\\``',
      },
    ],
    tests: ['test/mysql/lease.test.ts', '-t', 'grants a released key to one of many'],
  },
  {
    name: 'mysql-lost-reply-taken-for-a-failure',
    what: 'A COMMIT without an answer is taken for one that never happened.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/mysql2/inbox/claim-transaction.ts',
        find: "this.#phase = isSent ? 'unknown' : 'over'",
        replace: "this.#phase = 'over'",
      },
    ],
    tests: ['lab/mysql/faults.test.ts', '-t', 'answers already-marked to a mark whose COMMIT has happened'],
  },
]
