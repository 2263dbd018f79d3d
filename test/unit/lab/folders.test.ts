import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from '@jest/globals'

/** Folders that ship. They also import each other in one direction only. */
const PRODUCT = ['src', 'adapters', 'testing', 'cli', 'dashboard']
/** Folders that do not ship. Tests import the laboratory, and it imports test/kit: only the folders inside each are compared. */
const OTHERS = ['site', 'bench', 'model', 'lab', 'test']
const NOT_OURS = /(^|\/)(node_modules|dist|generated|\.vitepress)(\/|$)/
/** A folder with more files than a reader takes in at once. */
const MANY_FILES = 40
const ENTRIES: ReadonlyMap<string, string> = new Map([
  ['consume-once', 'src/index.ts'],
  ['consume-once/spi', 'src/spi.ts'],
  ['consume-once/testing', 'testing/index.ts'],
])

function sourceFiles(): readonly string[] {
  return [...PRODUCT, ...OTHERS]
    .flatMap((root) => readdirSync(root, { recursive: true }).map((name) => join(root, String(name))))
    .filter((file) => /\.tsx?$/.test(file) && !NOT_OURS.test(file))
}

/** `[importer, imported]` for each import of a source file, type-only ones included. */
function imports(): readonly (readonly [string, string])[] {
  return sourceFiles().flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:from|import)[ (]'([^']+)'/g)].flatMap(([, name = '']) => {
      const imported = name.startsWith('.') ? join(dirname(file), name) : ENTRIES.get(name)
      return imported === undefined ? [] : [[file, imported] as const]
    }),
  )
}

/** For each two folders that lie side by side, if one imports from the other: `a/b > a/c`. */
function siblings(): ReadonlyMap<string, ReadonlySet<string>> {
  const edges = new Map<string, Set<string>>()
  for (const [importer, imported] of imports()) {
    const [from, to] = [dirname(importer).split('/'), dirname(imported).split('/')]
    const shared = from.findIndex((name, at) => name !== to[at])
    if (shared === -1 || shared >= to.length) continue
    const [one, other] = [from.slice(0, shared + 1).join('/'), to.slice(0, shared + 1).join('/')]
    if (OTHERS.includes(one) || OTHERS.includes(other)) continue
    edges.set(one, (edges.get(one) ?? new Set()).add(other))
  }
  return edges
}

it('folders that lie side by side import each other in one direction only', () => {
  const edges = siblings()
  expect(edges.get('adapters/kafka/intake')).toContain('adapters/kafka/copies')
  expect(edges.get('lab/mutation-testing')).toContain('lab/mutants')
  const reach = (folder: string, seen = new Set<string>()): ReadonlySet<string> => {
    for (const next of edges.get(folder) ?? []) if (!seen.has(next)) reach(next, seen.add(next))
    return seen
  }
  expect([...edges.keys()].filter((folder) => reach(folder).has(folder))).toEqual([])
})

it('no folder has 40 source files at its root', () => {
  const counts = new Map<string, number>()
  for (const file of sourceFiles()) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  expect(counts.get('src/pipeline')).toBeGreaterThan(0)
  expect([...counts].filter(([, count]) => count >= MANY_FILES)).toEqual([])
})
