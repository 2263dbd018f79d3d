import { mutants, type Mutant } from './mutant.ts'

/** Bugs in code that distinguishes messages or tables. */
export const CORPUS_MUTANTS: readonly Mutant[] = mutants('corpus', {
  'key-from-decoded-text': {
    what: 'The key is made from the text that the bytes of an ID decode to, so broken bytes are all alike.',
    changes: [{ first: (id) => `if (typeof ${id} !== 'string') ${id} = new TextDecoder().decode(${id})` }],
    tests: ['lab/hostile/on-memory.test.ts', '-t', 'memoryStore'],
  },
  'undefined-hashed-as-an-id': {
    what: 'A message without an ID has the text undefined for its ID, which it shares with all others without one.',
    changes: [{ value: "new TextEncoder().encode('undefined')" }],
    tests: ['lab/hostile/on-memory.test.ts', '-t', 'memoryStore'],
  },
  'identifiers-cut-at-63-bytes': {
    what: 'A schema may have a longer name, of which Postgres keeps 63 bytes: two become one.',
    changes: [{ text: '{0,62}$/', is: '*$/' }],
    tests: ['test/unit/lab/hostile-options.test.ts', '-t', 'schema of 64 bytes'],
  },
})
