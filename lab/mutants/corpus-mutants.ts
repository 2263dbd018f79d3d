import type { Mutant } from './mutant.ts'

/** Faults in what tells one message from another, or one table from another. */
export const CORPUS_MUTANTS: readonly Mutant[] = [
  {
    name: 'key-from-decoded-text',
    what: 'The key is made from the text that the bytes of an ID decode to, so broken bytes are all alike.',
    layer: 'corpus',
    patches: [
      {
        file: 'src/digest.ts',
        find: '  of(id: string | Uint8Array): string {\n',
        replace:
          "  of(id: string | Uint8Array): string {\n    if (typeof id !== 'string') return this.of(new TextDecoder().decode(id))\n",
      },
    ],
    tests: ['lab/hostile/on-memory.test.ts', '-t', 'memoryStore'],
  },
  {
    name: 'undefined-hashed-as-an-id',
    what: 'A message without an ID has the text undefined for its ID, which it shares with all others without one.',
    layer: 'corpus',
    patches: [
      {
        file: 'src/core/message-id.ts',
        find: "if (id === undefined || id === null || id.length === 0) return 'missing'",
        replace: 'if (id === undefined || id === null) return encoder.encode(String(id))',
      },
    ],
    tests: ['lab/hostile/on-memory.test.ts', '-t', 'memoryStore'],
  },
  {
    name: 'identifiers-cut-at-63-bytes',
    what: 'A schema may have a longer name, of which Postgres keeps 63 bytes: two become one.',
    layer: 'corpus',
    patches: [
      {
        file: 'adapters/pg/options.ts',
        find: "if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) return []",
        replace: "if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]*$/.test(schema)) return []",
      },
    ],
    tests: ['lab/hostile/configuration.test.ts', '-t', 'schema of 64 bytes'],
  },
]
