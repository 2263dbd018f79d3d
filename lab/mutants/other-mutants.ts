import { mutants, type Mutant } from './mutant.ts'

/** Faults of lanes, of the cache, of logs and of the command-line tool. */
export const OTHER_MUTANTS: readonly Mutant[] = mutants('unit', {
  'suspect-overtakes-its-lane': {
    what: 'Inbox: runs a message before one of its lane that goes back since it was tried before.',
    changes: ['remove'],
    tests: ['test/pipeline/inbox-suspects.test.ts', '-t', 'does not overtake in its lane'],
  },
  'last-attempt-beside-others': {
    what: 'Inbox: runs the last attempt of what may kill the process beside others.',
    changes: [{ value: 'false' }],
    tests: ['test/pipeline/inbox-suspects.test.ts', '-t', 'in its last attempt runs beside nothing'],
  },
  'suspects-all-together': {
    what: 'Runs what may kill the process in as large a company in each attempt.',
    changes: ['always'],
    tests: ['test/unit/core/company.test.ts', '-t', 'gets fewer by the same factor'],
  },
  'stop-refunds': {
    what: 'Inbox: gives the attempt back that the stop deadline ended.',
    changes: [{ argument: 1, is: 'REFUND' }],
    tests: ['test/unit/pipeline/stop.test.ts', '-t', 'spends an attempt on what its deadline interrupted'],
  },
  'stop-runs-the-batch': {
    what: 'Inbox: a stop waits for the handlers of a transaction that have not begun.',
    changes: [{ dropOperand: 0 }],
    tests: ['test/unit/pipeline/batching/inbox.test.ts', '-t', 'ends at its next handler when a stop is asked for'],
  },
  'once-forgets-doubt': {
    what: 'A function under `once` that may have had its effect is released as if it had none.',
    changes: [{ value: 'false' }],
    tests: ['test/unit/execution/alike.test.ts', '-t', 'the outcome is unknown: once, lease'],
  },
  'deadlock-fails-for-good': {
    what: 'Inbox: the victim of a deadlock has spent an attempt.',
    changes: [{ value: 'undefined' }],
    tests: ['test/unit/execution/alike.test.ts', '-t', 'victim of a deadlock'],
  },
  'never-holds': {
    what: 'Dead-letters a whole topic in which nothing is handled.',
    changes: ['never'],
    tests: ['test/unit/core/breaker.test.ts', '-t', 'is never closed again by time or silence'],
  },
  'holds-nothing-back': {
    what: 'Holds, and dead-letters all the same what fails meanwhile.',
    changes: [{ value: 'true' }],
    tests: ['test/unit/core/breaker.test.ts', '-t', 'lets no more than its limit'],
  },
  'hold-ended-by-time': {
    what: 'A hold is over when its time is, although nothing was handled.',
    changes: [{ value: 'AT_EASE' }],
    tests: ['test/unit/core/breaker.test.ts', '-t', 'is never closed again by time or silence'],
  },
  'batches-without-a-bound': {
    what: 'Inbox: slow handlers wait behind each other in one transaction.',
    changes: [{ value: 'limit' }, { value: 'false' }],
    tests: ['test/unit/core/pace.test.ts', '-t', 'ends a transaction once'],
  },
  'cache-learns-what-was-refused': {
    what: 'The cache in front of a store takes a mark that was refused for done.',
    changes: ['always'],
    tests: ['test/stores/lru-cache.test.ts', '-t', 'learns nothing from a mark that is refused'],
  },
  'cache-deaf-to-a-person': {
    what: 'The cache goes on to answer done for what a person has forgotten.',
    changes: ['remove', 'remove'],
    tests: ['test/stores/lru-cache.test.ts', '-t', 'is noticed at once in the store'],
  },
  'payload-logged': {
    what: 'The line of a delivery holds its payload.',
    changes: [{ call: ({ source, args: [event] }) => `${source}, payload: String(${event}.message.value)` }],
    tests: ['test/security/canary.test.ts', '-t', 'under a lease'],
  },
  'cli-hides-who-decides': {
    what: 'The tool writes down the user of the system in place of who decides.',
    changes: [{ dropOperand: 0 }],
    tests: ['lab/cli/postgres.test.ts', '-t', 'written down \\(on-lease\\)'],
  },
  'reopened-without-audit': {
    what: 'What the tool reopens on a lease is not written down.',
    layer: 'real servers',
    changes: [{ value: (decided) => `decision === 'reopen' ? [] : ${decided}` }],
    tests: ['lab/cli/postgres.test.ts', '-t', 'written down \\(on-lease\\)'],
  },
  'cli-asks-nobody': {
    what: 'The tool decides without asking.',
    changes: ['never'],
    tests: ['lab/cli/records.test.ts', '-t', 'is refused with 3, after the preview'],
  },
  'claim-begins-before-marks': {
    what: 'Handlers of a claim begin before the marks are durable whose room they take.',
    changes: ['never'],
    tests: ['test/unit/pipeline/intake/lanes.test.ts', '-t', 'begin no handler before those marks are durable'],
  },
  'abort-at-the-end-of-the-lease': {
    what: 'A handler that is cut off from its store is aborted when its lease ends, not before.',
    changes: [{ binary: (leaseUntil) => leaseUntil }],
    tests: ['test/unit/pipeline/batching/leases.test.ts', '-t', 'before another process can take it over'],
  },
  'own-headers-redacted': {
    what: 'What the library wrote on its own copies is taken for the words of the message.',
    changes: ['always'],
    tests: ['test/security/redact.test.ts', '-t', 'is not looked for in the headers of its own copies'],
  },
  'cause-as-it-is': {
    what: 'An error has as its cause the error of the client, with all that the client was given.',
    changes: ['always'],
    tests: ['test/unit/pipeline/telemetry/errors.test.ts', '-t', 'nothing that the client was given'],
  },
  'deaf-to-a-store-that-is-back': {
    what: 'Who waits to ask a store again waits on when it can be reached.',
    changes: ['remove'],
    tests: ['test/pipeline/store-down.test.ts', '-t', 'asks again a moment after'],
  },
  'replay-hold-shared': {
    what: 'A replay in memory is taken while another owner holds it.',
    changes: [{ value: 'false' }],
    tests: ['test/contract/memory-store.test.ts', '-t', 'lets one owner take a replay'],
  },
  'memory-shows-all-scopes': {
    what: 'The store in memory shows, and lets people decide about, the records of another consumer.',
    changes: [{ value: '() => true' }],
    tests: ['test/contract/memory-store.test.ts', '-t', 'in its own scope only'],
  },
  'unscoped-decided-by-key': {
    what: 'A key is decided though its record does not say of which consumer it is.',
    layer: 'real servers',
    changes: ['remove'],
    tests: ['test/redis/scopes.test.ts', '-t', 'only where somebody says'],
  },
  'raised-retention-ignored': {
    what: 'A retention that was raised counts as if it had always been so long.',
    changes: [{ value: '0' }],
    tests: ['test/unit/known-since.test.ts', '-t', 'right after it was raised'],
  },
  'gap-taken-for-done': {
    what: 'Takes every number below the highest one of its source for done.',
    changes: [{ dropOperand: 1 }],
    tests: ['test/unit/core/sequence.test.ts', '-t', 'says done of exactly the numbers'],
  },
  'sequence-unasked': {
    what: 'Runs what the source knows as done, once its own record is gone.',
    changes: ['remove'],
    tests: ['test/contract/memory-sequences.test.ts', '-t', 'parks a sender that began again'],
  },
  'sequence-unasked-by-inbox': {
    what: 'Gives the transaction to a handler whose message the source knows as done.',
    changes: ['remove'],
    tests: ['test/unit/stores/inbox-sequences.test.ts', '-t', 'gives no transaction for a number'],
  },
})
