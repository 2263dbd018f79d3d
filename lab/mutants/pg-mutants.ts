import type { Change } from './change.ts'
import { mutants, type Mutant } from './mutant.ts'

/** Commits what the first statements wrote, and begins another transaction of the same kind. */
const COMMITTED = `;
commit;
begin;
select set_config('consume_once.open', '1', true), set_config('consume_once.lock_timeout', '0', true)`

const POSITION_UNCOMPARED: Change = { text: / and p\.next_offset = \$\{[^}]*\}/, is: '' }

/** Faults of inbox and offsets on Postgres. */
export const PG_MUTANTS: readonly Mutant[] = mutants('real servers', {
  'commit-tag-unchecked': {
    what: 'A COMMIT that is answered ROLLBACK is taken for a mark. Of a real server a statement in front of it fails first.',
    layer: 'unit',
    changes: ['remove'],
    tests: ['test/unit/pg/fake-pool.test.ts', '-t', 'whose COMMIT is answered ROLLBACK'],
  },
  'refused-commit-taken-for-a-mark': {
    what: 'What Postgres refuses at the COMMIT, after a failed query that the handler swallowed, is taken for marked.',
    changes: [{ instead: () => "return 'marked'" }],
    tests: ['test/pg/inbox.test.ts', '-t', 'a failed query that it swallowed'],
  },
  'first-attempt-not-kept': {
    what: 'What a claim has counted is forgotten when its process dies, so a message that kills it is never given up.',
    changes: [{ value: "() => 'false'" }],
    tests: ['test/pg/attempts.test.ts', '-t', 'survive a rollback and the death'],
  },
  'duplicates-before-the-flush': {
    what: 'With a flush ticker, what was committed and not yet flushed is told to be done.',
    changes: [{ value: 'false' }],
    tests: ['lab/pg/flush-ticker.test.ts', '-t', 'stays done where its scope has said'],
  },
  'pg-row-before-the-effect': {
    what: 'The row of the inbox is committed when it is claimed, and not with the effect.',
    changes: [
      {
        value: (claim) => `((first) => ({ ...first, text: first.text + ${JSON.stringify(COMMITTED)} }))(${claim})`,
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'lets a released key be claimed again, with one more attempt'],
  },
  'pg-release-commits': {
    what: 'A release commits the effect instead of rolling it back.',
    changes: [{ call: ({ on }) => `${on}.commit([]).then(() => {})` }],
    tests: ['test/pg/inbox.test.ts', '-t', 'rolls the effect back with a release'],
  },
  'pg-insert-taken-for-granted': {
    what: 'Whatever was not an error is taken for inserted, also where there was a row and ON CONFLICT did nothing.',
    changes: ['always', { value: 'true' }],
    tests: ['test/pg/inbox.test.ts', '-t', 'answers done once a claim is marked'],
  },
  'pg-pending-query-committed': {
    what: 'COMMIT is sent while a query of the handler is pending.',
    changes: ['never'],
    tests: ['test/pg/inbox.test.ts', '-t', 'refuses to commit while a query is pending'],
  },
  'pg-lost-reply-taken-for-a-failure': {
    what: 'A COMMIT without an answer is taken for one that never happened.',
    changes: ['never'],
    tests: ['test/pg/lost-connection.test.ts', '-t', 'answers already-marked once it is clear'],
  },
  'pg-mark-as-the-session-likes': {
    what: 'A mark is flushed only where the session says so.',
    changes: [{ text: "'on'", is: "'off'" }],
    tests: ['test/pg/transaction.test.ts', '-t', 'flushes a mark where the handler or the role says off'],
  },
  'pg-attempt-of-another-given-back': {
    what: 'Giving an attempt back does not compare the owner token.',
    changes: [{ text: / and c\.token = [^}]*\}/, is: '' }],
    tests: ['test/pg/attempts.test.ts', '-t', 'without those that another has counted since, and is over too'],
  },
  'pg-suspect-in-company': {
    what: 'A message that may have killed its process shares a transaction again.',
    changes: ['never'],
    tests: ['test/pg/inbox.test.ts', '-t', 'counts a claim that has not begun for longer'],
  },
  'pg-backoff-of-one-copy': {
    what: 'A claim of another copy does not wait for the end of the backoff.',
    changes: [{ dropOperand: 0 }],
    tests: ['test/pg/inbox.test.ts', '-t', 'lets nobody claim what is released before its time'],
  },
  'pg-held-back-by-anyone': {
    what: 'A release holds back what another owner has counted since.',
    changes: [{ text: / and o\.token <> c\.token/, is: ' and false' }],
    tests: ['test/pg/attempts.test.ts', '-t', 'hold back nothing that another owner has counted since'],
  },
  'pg-parked-purged': {
    what: 'A purge removes what is parked, before a person has seen it.',
    changes: [{ text: "('d', 'g')", is: "('d', 'g', 'p')" }],
    tests: ['test/pg/admin.test.ts', '-t', 'never what is parked'],
  },
  'pg-decision-past-a-claim': {
    what: 'A person decides about keys without waiting for the transactions that hold them.',
    changes: [{ call: () => "{ text: 'select 1' }" }],
    tests: ['test/pg/admin.test.ts', '-t', 'wait for a claim that is about to end'],
  },
  'pg-decision-without-audit': {
    what: 'What a person decides is not written down.',
    changes: ['remove'],
    tests: ['test/pg/admin.test.ts', '-t', 'are written down, each once'],
  },
  'pg-offsets-unlocked': {
    what: 'A partition is not held while its handler runs, and its position is moved from wherever it stands.',
    changes: [{ text: 'pg_advisory_xact_lock', is: '' }, POSITION_UNCOMPARED],
    tests: ['test/pg/offsets.test.ts', '-t', 'has one effect of each message, in order'],
  },
  'pg-position-moved-blindly': {
    what: 'A mark moves a position that another hand has moved.',
    changes: [POSITION_UNCOMPARED],
    tests: ['test/pg/offsets.test.ts', '-t', 'refuses a mark where another hand has moved the position'],
  },
  'pg-digest-uncompared': {
    what: 'Another payload of a key that is done is taken for the same one.',
    changes: ['remove'],
    tests: ['test/pg/inbox.test.ts', '-t', 'answers conflict to another payload of a key that is done'],
  },
  'pg-commit-of-another-transaction': {
    what: 'A COMMIT is sent without a look whether its transaction is still the one that was begun.',
    changes: [{ text: "current_setting('consume_once.open')::int", is: '1' }, 'always'],
    tests: ['test/pg/transaction.test.ts', '-t', 'finds out that a handler ended it and began another'],
  },
  'pg-torn-row-taken-for-done': {
    what: 'A row whose claim is still there, committed by a handler and not by a mark, is read as done.',
    changes: [{ text: "i.outcome = 'd' and i.key", is: 'false and i.key' }],
    tests: ['test/pg/inbox.test.ts', '-t', 'never has a mark without its effect'],
  },
  'pg-savepoints-shared': {
    what: 'A handler may roll back to a savepoint of another message of its transaction.',
    changes: ['never'],
    tests: ['test/pg/inbox.test.ts', '-t', 'marks no message whose effect'],
  },
  'pg-release-unproven': {
    what: 'A release does not look whether it took back all that handlers wrote.',
    changes: [{ text: "coalesce(current_setting('consume_once.handlers', true), '') = ''", is: 'true' }],
    tests: ['test/pg/inbox.test.ts', '-t', 'keeps nothing of a handler that fails'],
  },
})
