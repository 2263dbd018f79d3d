import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'

const ROOT = 'adapters/mysql2'

/** Statements that change one row by its primary key, whose plan is in test/mysql/plans.test.ts. */
const ONE_ROW = [
  'history.ts: update ${tables.scope} set first_claim_at',
  'history.ts: update ${tables.scope} set first_claim_at',
  'history.ts: update ${tables.replay} set state',
  'history.ts: update ${tables.replay} set owner',
  'history.ts: update ${tables.replay} set request',
  'statements/purge.ts: update ${scopes} set purged_to',
]

/** Locks one row by its primary key, whose plan is in test/mysql/plans.test.ts. */
const LOCKS_ONE = 'outbox/statements.ts'

const FILES = readdirSync(ROOT, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts') && !name.startsWith('schema/'))

/** Where each text of SQL begins with these words, as `file: words`. */
function statements(beginning: RegExp): readonly string[] {
  return FILES.flatMap((name) => {
    const source = readFileSync(join(ROOT, name), 'utf8')
    return [...source.matchAll(beginning)].map(([, text = '']) => `${name}: ${text}`)
  })
}

it('rows of MariaDB and MySQL are deleted by deleteKeys and deleteIds only: a server reads all of a small table otherwise, and deadlocks', () => {
  const deletes = statements(/[`'"]\s*(delete\s[^`]*)/g)
  expect(deletes).toHaveLength(2)
  expect(deletes[0]).toMatch(
    /^statements\/literals\.ts: delete gone from \$\{tables\[from\]\} as gone \$\{byKey\(tables, from\)\} where/,
  )
  expect(deletes[1]).toMatch(
    /^statements\/literals\.ts: delete gone from \$\{table\} as gone force index \(\$\{PRIMARY\}\) where/,
  )
})

it('several rows are updated by updateKeys only', () => {
  const updates = statements(/[`'"]\s*(update\s+\$\{[^}]+\}(?: \$\{byKey\([^)]*\)\})? set \w*)/g)
  const others = updates.filter(
    (text) => text !== 'statements/literals.ts: update ${tables[of]} ${byKey(tables, of)} set ',
  )
  expect(others.toSorted()).toEqual(ONE_ROW.toSorted())
})

it('a select that locks names the index', () => {
  for (const name of FILES.filter((file) => file !== LOCKS_ONE)) {
    const source = readFileSync(join(ROOT, name), 'utf8')
    const locking = source.match(/\sfor update\b(?!\))|lock in share mode|for share\b/g) ?? []
    const named =
      source.match(/select [^`]* from \$\{[\w.]+\} \$\{byKey\([^)]*\)\} (?=where [^`]* for update`|\$\{where\}`)/g) ??
      []
    expect([name, locking.length]).toEqual([name, named.length])
  }
})
