import { mutants, type Mutant } from './mutant.ts'

const LATER = 'test/unit/pipeline/limit/retry-later.test.ts'

/** Faults of limits and of what a provider puts off. */
export const LIMIT_MUTANTS: readonly Mutant[] = mutants('unit', {
  'limit-put-off-behind-its-key': {
    what: 'A message that was put off waits again behind everything of its key.',
    changes: ['never'],
    tests: [LATER, '-t', 'is first of its key after it'],
  },
  'limit-key-not-held-back': {
    what: 'A provider says "later", and others of its key are sent to it all the same.',
    changes: ['remove'],
    tests: [LATER, '-t', 'holds back the key of its limit'],
  },
  'limit-put-off-spends-its-attempt': {
    what: 'A message whose provider says "later" has failed, and is a dead letter after some of that.',
    changes: ['never'],
    tests: [LATER, '-t', 'runs again after it, in the same attempt'],
  },
  'limit-duplicate-spends-a-permit': {
    what: 'The permit of a message whose handler never begins is lost.',
    changes: ['remove'],
    tests: ['test/unit/pipeline/limit/limit.test.ts', '-t', 'gives the permit of a duplicate'],
  },
  'limit-open-while-its-server-is-silent': {
    what: 'While the shared limiter does not answer, each process grants itself what it asks for.',
    changes: [{ value: 'count' }],
    tests: ['test/unit/pipeline/limit/shared.test.ts', '-t', 'lets nothing through while its server'],
  },
})
