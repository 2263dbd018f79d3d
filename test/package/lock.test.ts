import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

interface Entry {
  readonly resolved?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
}

/** `node_modules/a/node_modules/b` finds `c` in its own folder, in that of `a`, or in the first. */
function isFound(name: string, from: string, packages: Readonly<Record<string, Entry>>): boolean {
  if (join(from, 'node_modules', name) in packages) return true
  return from !== '' && isFound(name, from.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), packages)
}

it('the lock file tells glibc from musl: npm 10 drops that when it writes one, and both are installed then', () => {
  const { libc } = lockOf('.')['node_modules/@swc/core-linux-x64-musl'] ?? {}
  expect(libc).toEqual(['musl'])
})

describe.each(['.', 'examples/orm', 'examples/sqs'])('the lock file of %s', (folder) => {
  const packages = lockOf(folder)
  const { '': root = {}, ...others } = packages
  const entries = Object.entries(others)

  it('is that of the manifest', () => {
    const { dependencies, devDependencies } = readJson(folder, 'package.json') as Entry
    expect(root.dependencies).toEqual(dependencies)
    expect(root.devDependencies).toEqual(devDependencies)
  })

  it('has the digest of each package, from the public registry', () => {
    expect(entries.length).toBeGreaterThan(20)
    expect(entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([])
    expect(entries.filter(([, { resolved }]) => !resolved?.startsWith('https://registry.npmjs.org/'))).toEqual([])
  })

  it('has what each package installs on other systems: without it, npm ci refuses the lock there', () => {
    const missing = entries.flatMap(([at, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => !isFound(name, at, packages))
        .map((name) => `${at}: ${name}`),
    )
    expect(missing).toEqual([])
  })
})

it.each(['@swc/', '@esbuild/', '@oxlint/', '@oxfmt/', '@oxc-parser/', '@typescript/'])(
  'the lock file has %s for Linux, macOS and Windows, x64 and arm64',
  (scope) => {
    const packages = lockOf('.')
    const systems = Object.entries(packages).flatMap(([name, { os, cpu }]) =>
      name.startsWith(`node_modules/${scope}`) ? [`${os?.join('+')} ${cpu?.join('+')}`] : [],
    )
    expect(systems).toEqual(
      expect.arrayContaining(['linux x64', 'linux arm64', 'darwin x64', 'darwin arm64', 'win32 x64', 'win32 arm64']),
    )
  },
)

function lockOf(folder: string): Readonly<Record<string, Entry>> {
  return (readJson(folder, 'package-lock.json') as { readonly packages: Readonly<Record<string, Entry>> }).packages
}

function readJson(folder: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'))
}
