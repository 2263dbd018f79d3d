import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** An entry point of the package. */
export interface Entry {
  /** As `exports` names it: `.`, `./pg`. */
  readonly name: string
  /** From the root of the repository: `adapters/pg/index.ts`. */
  readonly source: string
}

/** The entry points of the package, from `exports` of its manifest, with the sources that tsconfig.json gives them. */
export function entries(root = '.'): readonly Entry[] {
  const { exports } = read(join(root, 'package.json')) as { readonly exports: Readonly<Record<string, unknown>> }
  const { compilerOptions } = read(join(root, 'tsconfig.json')) as {
    readonly compilerOptions: { readonly paths: Paths }
  }
  return Object.keys(exports)
    .filter((name) => name !== './package.json')
    .map((name) => ({ name, source: sourceOf(name, compilerOptions.paths) }))
}

type Paths = Readonly<Record<string, readonly string[]>>

function sourceOf(name: string, paths: Paths): string {
  const [own] = paths[`consume-once${name.slice(1)}`] ?? []
  const [others = ''] = paths['consume-once/*'] ?? []
  return (own ?? others.replace('*', name.slice(2))).replace('./', '')
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
