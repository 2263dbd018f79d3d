import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { VERSIONS, type Versioned } from '../kit/servers/versions.ts'

interface Step {
  readonly run?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly uses?: string
  readonly needs?: string
  readonly steps?: readonly Step[]
  readonly permissions?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly strategy?: {
    readonly matrix: { readonly node: readonly number[]; readonly servers: readonly Readonly<Record<string, string>>[] }
  }
}

const FOLDER = '.github/workflows'
const workflows = readdirSync(FOLDER)
const jobsOf = (file: string): Readonly<Record<string, Job>> =>
  (parse(readFileSync(`${FOLDER}/${file}`, 'utf8')) as { readonly jobs: Readonly<Record<string, Job>> }).jobs

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
}
const ci = readFileSync('.ci/run', 'utf8')
const parts = new Set([...ci.matchAll(/^part_(\w+)\(\)/gm)].map(([, name = '']) => name))

/** Scripts and parts of `.ci/run` that a line of a shell calls, and that do not exist. */
function missing(line: string): readonly string[] {
  const [, script] = /\bnpm run (?:--silent )?([\w:]+)/.exec(line) ?? []
  const [, named = ''] = /\bbash \.ci\/run ?(.*)/.exec(line) ?? []
  const called = named.split(' ').filter((name) => name !== '')
  return [
    ...(script === undefined || script in manifest.scripts ? [] : [script]),
    ...called.filter((name) => !parts.has(name)),
  ]
}

describe.each(workflows)('%s', (file) => {
  const jobs = Object.values(jobsOf(file))

  it('calls scripts and parts of .ci/run that exist', () => {
    const lines = jobs.flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []))
    expect(lines.some((line) => line.includes('.ci/run'))).toBe(true)
    expect(lines.flatMap(missing)).toEqual([])
    for (const { uses } of jobs) expect(uses === undefined || existsSync(uses)).toBe(true)
  })

  it('checks the sources out before it does anything', () => {
    for (const { steps = [], uses } of jobs)
      expect(uses ?? steps[0]?.uses).toMatch(uses === undefined ? /^actions\/checkout@/ : /\.yml$/)
  })
})

it('a script that does not exist is found', () => {
  expect(missing('npm run --silent nothing')).toEqual(['nothing'])
  expect(missing('bash .ci/run install nothing')).toEqual(['nothing'])
})

describe('the versions of CI', () => {
  const { test } = jobsOf('ci.yml')
  const { node = [], servers = [] } = test?.strategy?.matrix ?? {}

  it('begin with the oldest Node that the package admits, and have each even one after it', () => {
    const oldest = Number(/^>=(\d+)/.exec(manifest.engines.node)?.[1])
    expect(node).toEqual([20, 22, 24, 26])
    expect(node[0]).toBe(oldest)
  })

  it('run the tests of Kafka with both of its clients', () => {
    const called = test?.steps?.flatMap(({ run = '' }) => (run.startsWith('bash .ci/run') ? run.split(' ') : []))
    expect(called).toEqual(expect.arrayContaining(['tests', 'clients']))
  })

  it.each(Object.keys(VERSIONS) as Versioned[])('have every version of %s that the tests can have', (name) => {
    const { variable, known } = VERSIONS[name]
    expect(test?.env?.[variable]).toBe(`\${{ matrix.servers.${name} }}`)
    expect(new Set(servers.map((versions) => versions[name]))).toEqual(new Set(known))
  })
})

it('a release has all commits, which it counts', () => {
  expect(jobsOf('release.yml').publish?.steps?.[0]?.with?.['fetch-depth']).toBe(0)
})

it('a release runs all of CI first, and may sign where the tarball came from', () => {
  const { ci: tested, publish } = jobsOf('release.yml')
  expect(tested?.uses).toBe('./.github/workflows/ci.yml')
  expect(publish?.needs).toBe('ci')
  expect(publish?.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
})
