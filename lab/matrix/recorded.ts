import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { SuiteOutcome } from './outcome.ts'

const FILE = fileURLToPath(new URL('results.json', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** When and of what a test file was run. */
export interface Run {
  /** ISO time. */
  readonly at: string
  readonly commit: string
  readonly node: string
  readonly system: string
}

export type RecordedOutcome = SuiteOutcome & { readonly run: Run }

/** What was found on one target. */
export interface RecordedColumn {
  /** As it was asked for. */
  readonly name: string
  readonly result:
    | { readonly reported: string; readonly outcomes: readonly RecordedOutcome[] }
    /** Why nothing could be run. */
    | { readonly reason: string }
}

export interface RecordedGroup {
  /** In groups.ts. */
  readonly name: string
  /** As `name version`. */
  readonly clients: readonly string[]
  readonly columns: readonly RecordedColumn[]
}

/** All that docs/compatibility.md is written from. */
export interface Recorded {
  readonly groups: readonly RecordedGroup[]
  /** How many commits had changed the code of stores since each run, by its time, when they were counted. */
  readonly counted?: { readonly on: string; readonly since: Readonly<Record<string, number>> }
}

export function readRecorded(): Recorded {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Recorded
}

export function writeRecorded(recorded: Recorded): void {
  writeFileSync(FILE, `${JSON.stringify(recorded, undefined, 2)}\n`)
}

/**
 * What was found now takes the place of what was recorded of the same test files on the same target. Files that are gone
 * leave it.
 */
export function merged(
  before: RecordedGroup | undefined,
  now: RecordedGroup,
  suites: readonly string[],
): RecordedGroup {
  const columns = now.columns.map((column): RecordedColumn => {
    const known = before?.columns.find(({ name }) => name === column.name)?.result
    const { result } = column
    if (!('outcomes' in result))
      return known !== undefined && 'outcomes' in known ? { ...column, result: known } : column
    const again = new Set(result.outcomes.map(({ suite }) => suite))
    const kept = known !== undefined && 'outcomes' in known ? known.outcomes : []
    const outcomes = [...kept.filter(({ suite }) => !again.has(suite) && suites.includes(suite)), ...result.outcomes]
    return { ...column, result: { ...result, outcomes: outcomes.toSorted((a, b) => (a.suite < b.suite ? -1 : 1)) } }
  })
  const fresh = new Set(columns.map(({ name }) => name))
  const others = (before?.columns ?? []).filter(({ name }) => !fresh.has(name))
  const order = (before?.columns ?? []).map(({ name }) => name)
  const all = [...others, ...columns].toSorted((a, b) => placeIn(order, a.name) - placeIn(order, b.name))
  return { ...now, columns: all }
}

function placeIn(order: readonly string[], name: string): number {
  const at = order.indexOf(name)
  return at < 0 ? order.length : at
}

/** Commits that have changed what the matrix tests since a time. Throws in a shallow clone, which would say too few. */
export function commitsSince(at: string): number {
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    throw new Error('expected a clone with all commits, got a shallow one; run git fetch --unshallow')
  return Number(git('rev-list', '--count', `--since=${at}`, 'HEAD', '--', 'src', 'adapters'))
}

/** With the counts of now. */
export function counted(recorded: Recorded): Recorded {
  const since = Object.fromEntries(runTimes(recorded).map((at) => [at, commitsSince(at)]))
  return { ...recorded, counted: { on: new Date().toISOString().slice(0, 10), since } }
}

/** ISO times of all runs, the oldest first. */
export function runTimes({ groups }: Recorded): readonly string[] {
  const times = groups.flatMap(({ columns }) =>
    columns.flatMap(({ result }) => ('outcomes' in result ? result.outcomes.map(({ run }) => run.at) : [])),
  )
  return [...new Set(times)].toSorted()
}

/** The run that begins now. */
export function thisRun(): Run {
  const commit = git('rev-parse', '--short=12', 'HEAD')
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  return { at, commit, node: process.version, system: `${platform()} ${arch()}` }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
