import type { Mutant } from './mutant.ts'

/** Faults of lanes, of the cache, of logs and of the command-line tool. */
export const OTHER_MUTANTS: readonly Mutant[] = [
  {
    name: 'suspect-overtakes-its-lane',
    what: 'Inbox: runs a message before one of its lane that goes back since it was tried before.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/inbox-runner.ts',
        find: '          again.push(task)\n          waitingLanes.add(task.lane)\n',
        replace: '          again.push(task)\n',
      },
    ],
    tests: ['test/pipeline/inbox-suspects.test.ts', '-t', 'does not overtake in its lane'],
  },
  {
    name: 'last-attempt-beside-others',
    what: 'Inbox: runs the last attempt of what may kill the process beside others.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/inbox-runner.ts',
        find: '    return isSuspect && attempts === this.#desk.consumer.maxAttempts - 1\n',
        replace: '    return isSuspect && attempts < 0\n',
      },
    ],
    tests: ['test/pipeline/inbox-suspects.test.ts', '-t', 'in its last attempt runs beside nothing'],
  },
  {
    name: 'suspects-all-together',
    what: 'Runs what may kill the process in as large a company in each attempt.',
    layer: 'unit',
    patches: [
      {
        file: 'src/core/company.ts',
        find: '  if (attempts <= 0) return all\n',
        replace: '  if (attempts < maxAttempts - 1) return all\n',
      },
    ],
    tests: ['test/unit/core/company.test.ts', '-t', 'gets fewer by the same factor'],
  },
  {
    name: 'stop-refunds',
    what: 'Inbox: gives the attempt back that the stop deadline ended.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/inbox-runner.ts',
        find: '    if (isInterrupted) return this.#rollBack(items, false)\n',
        replace: '    if (isInterrupted) return this.#rollBack(items, true)\n',
      },
    ],
    tests: ['test/unit/pipeline/stop.test.ts', '-t', 'spends an attempt on what its deadline interrupted'],
  },
  {
    name: 'cache-learns-what-was-refused',
    what: 'The cache in front of a store takes a mark that was refused for done.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/lru-cache/cached-store.ts',
        find: "if (verdicts[at] === 'marked') this",
        replace: 'if (verdicts[at] !== undefined) this',
      },
    ],
    tests: ['test/stores/lru-cache.test.ts', '-t', 'learns nothing from a mark that is refused'],
  },
  {
    name: 'cache-deaf-to-a-person',
    what: 'The cache goes on to answer done for what a person has forgotten.',
    layer: 'unit',
    patches: [
      {
        file: 'adapters/lru-cache/cached-store.ts',
        find: '      this.#done.decide(keys)\n      try',
        replace: '      try',
      },
      {
        file: 'adapters/lru-cache/cached-store.ts',
        find: '        this.#done.decide(keys)\n      }',
        replace: '        void keys\n      }',
      },
    ],
    tests: ['test/stores/lru-cache.test.ts', '-t', 'is noticed at once in the store'],
  },
  {
    name: 'payload-logged',
    what: 'The line of a delivery holds its payload.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/log-event.ts',
        find: '        ended_as: endedAs,\n        failure,\n',
        replace: '        ended_as: endedAs,\n        payload: String(message.value),\n        failure,\n',
      },
    ],
    tests: ['test/security/canary.test.ts', '-t', 'under a lease'],
  },
  {
    name: 'cli-hides-who-decides',
    what: 'The tool writes down the user of the system in place of who decides.',
    layer: 'unit',
    patches: [{ file: 'cli/records/decider.ts', find: 'by: by ?? osUser()', replace: 'by: osUser()' }],
    tests: ['lab/cli/postgres.test.ts', '-t', 'written down \\(on-lease\\)'],
  },
  {
    name: 'reopened-without-audit',
    what: 'What the tool reopens on a lease is not written down.',
    layer: 'real servers',
    patches: [
      {
        file: 'adapters/pg/lease/statements/decide.ts',
        find: "from held where verdict = 'decided'\n",
        replace: "from held where verdict = 'decided' and $4::text <> 'reopen'\n",
      },
    ],
    tests: ['lab/cli/postgres.test.ts', '-t', 'written down \\(on-lease\\)'],
  },
  {
    name: 'cli-asks-nobody',
    what: 'The tool decides without asking.',
    layer: 'unit',
    patches: [
      {
        file: 'cli/records/decide.ts',
        find: 'if (keys.length > 0) await confirm',
        replace: 'if (keys.length < 0) await confirm',
      },
    ],
    tests: ['lab/cli/records.test.ts', '-t', 'is refused with 3, after the preview'],
  },
  {
    name: 'claim-begins-before-marks',
    what: 'Handlers of a claim begin before the marks are durable whose room they take.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/lease-runner.ts',
        find: 'mustWait ? await this.#renewedUntil(earlier, granted, batch.sentAt) : batch.sentAt',
        replace: 'batch.sentAt',
      },
    ],
    tests: ['test/unit/pipeline/lanes.test.ts', '-t', 'begin no handler before those marks are durable'],
  },
  {
    name: 'abort-at-the-end-of-the-lease',
    what: 'A handler that is cut off from its store is aborted when its lease ends, not before.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/lease-keeper.ts',
        find: '    return leaseUntil - this.#marginMs\n',
        replace: '    return leaseUntil\n',
      },
    ],
    tests: ['test/unit/pipeline/leases.test.ts', '-t', 'before another process can take it over'],
  },
  {
    name: 'own-headers-redacted',
    what: 'What the library wrote on its own copies is taken for the words of the message.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/redact.ts',
        find: '(NOT_OF_PRODUCERS.test(name) ? [] : [header])',
        replace: '(NOT_OF_PRODUCERS.test(name) ? [header] : [header])',
      },
    ],
    tests: ['test/security/redact.test.ts', '-t', 'is not looked for in the headers of its own copies'],
  },
  {
    name: 'cause-as-it-is',
    what: 'An error has as its cause the error of the client, with all that the client was given.',
    layer: 'unit',
    patches: [
      {
        file: 'src/errors.ts',
        find: 'isConsumeOnceError(cause) ? cause : safeCause(cause)',
        replace: 'isConsumeOnceError(cause) ? cause : (safeCause(cause) && cause)',
      },
    ],
    tests: ['test/unit/pipeline/errors.test.ts', '-t', 'nothing that the client was given'],
  },
  {
    name: 'deaf-to-a-store-that-is-back',
    what: 'Who waits to ask a store again waits on when it can be reached.',
    layer: 'unit',
    patches: [
      {
        file: 'src/pipeline/store-line.ts',
        find: '      this.#pauses.skip()\n',
        replace: '',
      },
    ],
    tests: ['test/pipeline/store-down.test.ts', '-t', 'asks again a moment after'],
  },
]
