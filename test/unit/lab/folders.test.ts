import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from '@jest/globals'

const ROOTS = ['src', 'adapters', 'testing', 'cli']
const ENTRIES: Readonly<Record<string, string>> = {
  'consume-once': 'src/index.ts',
  'consume-once/spi': 'src/spi.ts',
  'consume-once/testing': 'testing/index.ts',
}

/** `[importer, imported]` for each import of a file below `ROOTS`, type-only ones included. */
function imports(): readonly (readonly [string, string])[] {
  const files = ROOTS.flatMap((root) => readdirSync(root, { recursive: true }).map((name) => join(root, String(name))))
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:from|import)[ (]'([^']+)'/g)].flatMap(([, name = '']) => {
        const imported = name.startsWith('.') ? join(dirname(file), name) : ENTRIES[name]
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
    edges.set(one, (edges.get(one) ?? new Set()).add(other))
  }
  return edges
}

it('folders that lie side by side import each other in one direction only', () => {
  const edges = siblings()
  expect(edges.get('adapters/kafkajs/intake')).toContain('adapters/kafkajs/copies')
  const reach = (folder: string, seen = new Set<string>()): ReadonlySet<string> => {
    for (const next of edges.get(folder) ?? []) if (!seen.has(next)) reach(next, seen.add(next))
    return seen
  }
  expect([...edges.keys()].filter((folder) => reach(folder).has(folder))).toEqual([])
})
