import type { Mutant } from './mutant.ts'

/** Faults of inbox and offsets on Postgres. */
export const PG_MUTANTS: readonly Mutant[] = [
  {
    name: 'commit-tag-unchecked',
    what: 'A COMMIT that is answered ROLLBACK is taken for a mark. Of a real server a statement in front of it fails first.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/pg/claim-transaction.ts',
        find: "if (tag === 'ROLLBACK') throw this.#refused('the COMMIT was answered ROLLBACK')\n",
        replace: '',
      },
      {
        file: 'adapters/pg/claim-transaction.ts',
        find: "if (tag !== 'COMMIT') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT was answered ${tag}`)",
        replace: 'void tag',
      },
    ],
    tests: ['test/unit/pg/fake-pool.test.ts', '-t', 'whose COMMIT is answered ROLLBACK'],
  },
  {
    name: 'refused-commit-taken-for-a-mark',
    what: 'What Postgres refuses at the COMMIT, after a failed query that the handler swallowed, is taken for marked.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/claim-transaction.ts',
        find: 'throw this.#refused(explainRefusal(error), error)',
        replace: "return 'marked'",
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'a failed query that it swallowed'],
  },
  {
    name: 'attempts-counted-after-the-handler',
    what: 'An attempt is counted in the transaction of the effect, so that one that kills its process never was.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/claim.ts',
        find: '  const { session, rows, counted } = await sessions.claim({\n    count: alone ? countNext(tables, counting) : countFirst(tables, counting),',
        replace: "  const { session, rows } = await sessions.claim({\n    count: { text: 'select 1;\\nselect 1' },",
      },
      {
        file: 'adapters/pg/inbox/claim.ts',
        find: '  try {\n    const [{ keys: claimed',
        replace:
          '  const counted = await session.run({ text: (alone ? countNext(tables, counting) : countFirst(tables, counting)).text.split(";\\ndelete")[0] ?? "" }) as never[]\n  try {\n    const [{ keys: claimed',
      },
    ],
    tests: ['test/pg/attempts.test.ts', '-t', 'are committed before the handler starts'],
  },
  {
    name: 'duplicates-before-the-flush',
    what: 'With a flush ticker, what was committed and not yet flushed is told to be done.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/read-for-good.ts',
        find: "return outcome === 'd' && isLate",
        replace: "return outcome === 'd' && isLate && false",
      },
    ],
    tests: ['lab/pg/flush-ticker.test.ts', '-t', 'stays done where its scope has said'],
  },
  {
    name: 'pg-row-before-the-effect',
    what: 'The row of the inbox is committed when it is claimed, and not with the effect.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/claim.ts',
        find: 'first: claimTogether(tables, scope, items),\n  })',
        replace:
          "first: { text: `${claimTogether(tables, scope, items).text};\\ncommit;\\nbegin;\\nselect set_config('consume_once.open', '1', true), set_config('consume_once.lock_timeout', '0', true)` },\n  })",
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'lets a released key be claimed again, with one more attempt'],
  },
  {
    name: 'pg-release-commits',
    what: 'A release commits the effect instead of rolling it back.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/claim-transaction.ts',
        find: 'if (refunded.length === 0) return this.#session.rollback()',
        replace: 'if (refunded.length === 0) return void (await this.#session.commit(this.#ledger.mark(new Map())))',
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'rolls the effect back with a release'],
  },
  {
    name: 'pg-insert-taken-for-granted',
    what: 'Whatever was not an error is taken for inserted, also where there was a row and ON CONFLICT did nothing.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/claim.ts',
        find: 'const answered = new AnsweredKeys(claimed, items.length)',
        replace: "const answered = new AnsweredKeys(items.map(({ key }) => key).join(''), items.length)",
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'answers done once a claim is marked'],
  },
  {
    name: 'pg-pending-query-committed',
    what: 'COMMIT is sent while a query of the handler is pending.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/claim-transaction.ts',
        find: 'if (this.#lending.hasFloated) {',
        replace: 'if (this.#lending.hasFloated === undefined) {',
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'refuses to commit while a query is pending'],
  },
  {
    name: 'pg-lost-reply-taken-for-a-failure',
    what: 'A COMMIT without an answer is taken for one that never happened.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/claim-transaction.ts',
        find: "this.#phase = isSent ? 'unknown' : 'over'",
        replace: "this.#phase = 'over'",
      },
    ],
    tests: ['test/pg/lost-connection.test.ts', '-t', 'answers already-marked once it is clear'],
  },
  {
    name: 'pg-mark-as-the-session-likes',
    what: 'A mark is flushed only where the session says so.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/statements/transaction.ts',
        find: "else 'on' end, true)`",
        replace: "else 'off' end, true)`",
      },
    ],
    tests: ['test/pg/transaction.test.ts', '-t', 'flushes a mark where the handler or the role says off'],
  },
  {
    name: 'pg-attempt-of-another-given-back',
    what: 'Giving an attempt back does not compare the owner token.',
    layer: 'real servers',
    patches: [
      { file: 'adapters/pg/inbox/statements/refund-attempts.ts', find: ' and a.owner = ${text(token)}`', replace: '`' },
    ],
    tests: ['test/pg/attempts.test.ts', '-t', 'are not given back by a claim that is over'],
  },
  {
    name: 'pg-backoff-of-one-copy',
    what: 'A claim of another copy does not wait for the end of the backoff.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/statements/count-attempts.ts',
        find: '${COUNT} where ${IS_FREE}',
        replace: '${COUNT}',
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'lets nobody claim what is released before its time'],
  },
  {
    name: 'pg-held-back-by-anyone',
    what: 'A release holds back what another owner has counted since.',
    layer: 'real servers',
    patches: [
      { file: 'adapters/pg/inbox/statements/hold-back.ts', find: ' and owner = ${text(token)}`', replace: '`' },
    ],
    tests: ['test/pg/attempts.test.ts', '-t', 'hold back nothing that another owner has counted since'],
  },
  {
    name: 'pg-parked-purged',
    what: 'A purge removes what is parked, before a person has seen it.',
    layer: 'real servers',
    patches: [
      { file: 'adapters/pg/inbox/statements/purge-records.ts', find: "in ('d', 'g')", replace: "in ('d', 'g', 'p')" },
    ],
    tests: ['test/pg/admin.test.ts', '-t', 'never what is parked'],
  },
  {
    name: 'pg-decision-past-a-claim',
    what: 'A person decides about keys without waiting for the transactions that hold them.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/statements/hold-records.ts',
        find: '`${claimKeys(tables, scope, items).text};',
        replace: '`select ${items.length};',
      },
    ],
    tests: ['test/pg/admin.test.ts', '-t', 'wait for a claim that is about to end'],
  },
  {
    name: 'pg-decision-without-audit',
    what: 'What a person decides is not written down.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/decide.ts',
        find: '    await session.run(auditDecision(tables, { scope, keys: [...done, ...open], decision, ...why }))\n',
        replace: '',
      },
    ],
    tests: ['test/pg/admin.test.ts', '-t', 'are written down, each once'],
  },
  {
    name: 'pg-offsets-unlocked',
    what: 'A partition is not held while its handler runs, and its position is moved from wherever it stands.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/offsets/statements/hold-streams.ts',
        find: '`select pg_advisory_xact_lock(${lockOf(schema, scope, stream)})`',
        replace: '`select ${text(lockOf(schema, scope, stream))}`',
      },
      {
        file: 'adapters/pg/offsets/statements/move-positions.ts',
        find: ' and p.next_offset = ${only.from} and',
        replace: ' and',
      },
    ],
    tests: ['test/pg/offsets.test.ts', '-t', 'has one effect of each message, in order'],
  },
  {
    name: 'pg-position-moved-blindly',
    what: 'A mark moves a position that another hand has moved.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/offsets/statements/move-positions.ts',
        find: ' and p.next_offset = ${only.from} and',
        replace: ' and',
      },
    ],
    tests: ['test/pg/offsets.test.ts', '-t', 'refuses a mark where another hand has moved the position'],
  },
  {
    name: 'pg-digest-uncompared',
    what: 'Another payload of a key that is done is taken for the same one.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/claim.ts',
        find: "  if (row.fp !== null && fp !== null && row.fp !== fp) return { verdict: 'conflict' }\n",
        replace: '',
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'answers conflict to another payload of a key that is done'],
  },
  {
    name: 'pg-commit-of-another-transaction',
    what: 'A COMMIT is sent without a look whether its transaction is still the one that was begun.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/statements/transaction.ts',
        find: "`select current_setting('consume_once.open')::int, ",
        replace: '`select 1, ',
      },
    ],
    tests: ['test/pg/transaction.test.ts', '-t', 'finds out that a handler ended it and began another'],
  },
  {
    name: 'pg-torn-row-taken-for-done',
    what: 'A row whose attempt is still there, committed by a handler and not by a mark, is read as done.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/inbox/statements/read-records.ts',
        find: "IS_TORN = 't.n is not null'",
        replace: "IS_TORN = 't.n is not null and false'",
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'never has a mark without its effect'],
  },
  {
    name: 'pg-savepoints-shared',
    what: 'A handler may roll back to a savepoint of another message of its transaction.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/tx/handler-statements.ts',
        find: 'if (USES_SAVEPOINTS.test(text)) await',
        replace: 'if (USES_SAVEPOINTS.test(text) && text.length < 0) await',
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'marks no message whose effect'],
  },
  {
    name: 'pg-release-unproven',
    what: 'A release does not look whether it took back all that handlers wrote.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/statements/transaction.ts',
        find: "coalesce(current_setting('consume_once.handlers', true), '') = ''",
        replace: 'true',
      },
    ],
    tests: ['test/pg/inbox.test.ts', '-t', 'keeps nothing of a handler that fails'],
  },
]
