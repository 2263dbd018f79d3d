import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly bundleDependencies?: readonly string[]
  readonly scripts?: Readonly<Record<string, string>>
}

const ours = manifestOf('package.json')

/** All are of the command-line tool; the library itself needs none. */
const LISTED = ['cli-progress', 'commander', 'jiti']

/** What npm runs where a package is installed. */
const RUN_BY_INSTALL = ['preinstall', 'install', 'postinstall']

describe('what a user installs', () => {
  it('is this package and three others of fixed versions, with what they need [T153]', () => {
    expect(Object.keys(ours.dependencies ?? {})).toEqual(LISTED)
    for (const version of Object.values(ours.dependencies ?? {})) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(ours.optionalDependencies).toBeUndefined()
    expect(ours.bundleDependencies).toBeUndefined()
    expect([...installed()].toSorted()).toEqual([
      'ansi-regex',
      'cli-progress',
      'commander',
      'emoji-regex',
      'is-fullwidth-code-point',
      'jiti',
      'string-width',
      'strip-ansi',
    ])
  })

  it('runs nothing while it is installed [T154]', () => {
    expect(Object.keys(ours.scripts ?? {}).filter((name) => RUN_BY_INSTALL.includes(name))).toEqual([])
    for (const name of installed()) {
      const { scripts = {} } = manifestOf(`node_modules/${name}/package.json`)
      expect([name, ...Object.keys(scripts).filter((script) => RUN_BY_INSTALL.includes(script))]).toEqual([name])
      expect(existsSync(`node_modules/${name}/binding.gyp`)).toBe(false)
    }
  })
})

/** Peers whose adapter has a shorter name. */
const PEERS: Readonly<Record<string, string>> = {
  '@nestjs/common': 'nestjs',
  '@nestjs/core': 'nestjs',
  '@opentelemetry/api': 'otel',
}

describe('the library', () => {
  it('imports no package: clients are handed to it [T155]', () => {
    for (const file of ['src', 'adapters'].flatMap(sourcesIn)) {
      const imported = [...readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;']*? from '([^'.][^']*)'/gm)]
      const packages = imported.map(([, name]) => name).filter((name) => !name?.startsWith('node:'))
      // What an adapter is named after is its peer, which its user has installed.
      const isPeer = (name = ''): boolean => file.startsWith(`adapters/${PEERS[name] ?? name}/`)
      expect([file, ...packages.filter((name) => !isPeer(name))]).toEqual([file])
    }
  })
})

/** With all that our dependencies need. */
function installed(): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = Object.keys(ours.dependencies ?? {})
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    waiting.push(...Object.keys(manifestOf(`node_modules/${name}/package.json`).dependencies ?? {}))
  }
  return found
}

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest
}

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
}
