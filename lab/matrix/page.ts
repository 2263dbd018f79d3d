import { brokersText } from './brokers.ts'
import { GROUPS } from './groups.ts'
import { KNOWN_FAILURES } from './known-failures.ts'
import type { SuiteOutcome } from './outcome.ts'
import type { Recorded, RecordedColumn, RecordedGroup, RecordedOutcome, Run } from './recorded.ts'

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

const HEAD = `# Compatibility

What passes on which server: the test files of every store, each run on a server of its own of that version, which is given as the
server itself says it.

Written by \`npm run matrix\`. Changes by hand do not outlive the next run. An empty cell: the file was not run on that server, mostly because it is newer than the run.`

export function pageOf(recorded: Recorded, why: Readonly<Record<string, string>> = KNOWN_FAILURES): string {
  return `${[HEAD, ...ageOf(recorded), ...recorded.groups.map((group) => sectionOf(group, why)), brokersText()].join('\n\n')}\n`
}

/** Nothing failed, and nothing was left out. */
export function isAllWell(groups: readonly RecordedGroup[]): boolean {
  return groups.every(({ columns }) =>
    columns.every(({ result }) => 'outcomes' in result && sumOf(result.outcomes).failed === 0),
  )
}

/** `52 passed, 1 failed, 2 skipped`, of which only what there is. */
export function textOf({ passed, failed, skipped }: Counts): string {
  const parts = [`${passed} passed`]
  if (failed > 0) parts.push(`**${failed} failed**`)
  if (skipped > 0) parts.push(`${skipped} skipped`)
  return parts.join(', ')
}

export function sumOf(outcomes: readonly SuiteOutcome[]): Counts {
  const sum = (of: (outcome: SuiteOutcome) => number): number => outcomes.reduce((all, one) => all + of(one), 0)
  return { passed: sum((one) => one.passed), failed: sum((one) => one.failed), skipped: sum((one) => one.skipped) }
}

/** The key of a failure in the table of reasons. */
export function nameOfFailure(suite: string, test: string): string {
  return `${suite}: ${test}`
}

/** How much older than the code the page is. */
function ageOf({ counted }: Recorded): readonly string[] {
  if (counted === undefined) return []
  const [oldest] = Object.entries(counted.since).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (oldest === undefined) return []
  const [at, commits] = oldest
  if (commits === 0)
    return [`No commit has changed \`src\` or \`adapters\` since the oldest run (counted on ${counted.on}).`]
  return [
    `**This page is older than the code.** The oldest run is of ${dayOf(at)}; since then ${commits} commits have changed \`src\` or \`adapters\` (counted on ${counted.on}). The row _run_ says it for each server; a cell with a date of its own was run again on that day.`,
  ]
}

function sectionOf(group: RecordedGroup, why: Readonly<Record<string, string>>): string {
  const { name, clients, columns } = group
  const known = GROUPS.find((one) => one.name === name)
  const parts = [`## ${known?.title ?? name}`]
  if (clients.length > 0) parts.push(`Clients: ${clients.join(', ')}.`)
  if (known?.missing !== undefined) parts.push(known.missing)
  parts.push(tableOf(columns), ...skipsOf(columns), ...columns.flatMap((column) => problemsOf(column, why)))
  return parts.join('\n\n')
}

function tableOf(columns: readonly RecordedColumn[]): string {
  const suites = [...new Set(outcomesIn(columns).map(({ suite }) => suite))].toSorted()
  const rows = [
    ['', ...columns.map(titleOf)],
    ['---', ...columns.map(() => '---')],
    ['_run_', ...columns.map(runOf)],
    ...suites.map((suite) => [suite, ...columns.map((column) => cellOf(column, suite))]),
    [
      '**all**',
      ...columns.map(({ result }) => ('outcomes' in result ? textOf(sumOf(result.outcomes)) : '**not run**')),
    ],
  ]
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function titleOf({ name, result }: RecordedColumn): string {
  return 'outcomes' in result ? result.reported : name
}

function outcomesIn(columns: readonly RecordedColumn[]): readonly RecordedOutcome[] {
  return columns.flatMap(({ result }) => ('outcomes' in result ? result.outcomes : []))
}

/** The oldest one of a column. */
function oldestOf(column: RecordedColumn): Run | undefined {
  return outcomesIn([column])
    .map(({ run }) => run)
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))[0]
}

function runOf(column: RecordedColumn): string {
  const run = oldestOf(column)
  return run === undefined ? '' : `${dayOf(run.at)}, ${run.commit}, Node ${run.node.slice(1)} on ${run.system}`
}

function cellOf(column: RecordedColumn, suite: string): string {
  const outcome = outcomesIn([column]).find((one) => one.suite === suite)
  if (outcome === undefined) return ''
  const isOld = outcome.run.at === oldestOf(column)?.at
  return isOld ? textOf(outcome) : `${textOf(outcome)} (${dayOf(outcome.run.at)})`
}

function dayOf(at: string): string {
  return at.slice(0, 10)
}

/** Why something was skipped, if anything was. */
function skipsOf(columns: readonly RecordedColumn[]): readonly string[] {
  const reasons = new Set(outcomesIn(columns).flatMap(({ skippedFor }) => skippedFor))
  return reasons.size === 0 ? [] : [`Skipped because: ${[...reasons].join('; ')}.`]
}

/** A list of what failed, if anything did, each with the reason. */
function problemsOf(column: RecordedColumn, why: Readonly<Record<string, string>>): readonly string[] {
  const { name, result } = column
  if ('reason' in result) return [`Not run on ${name}: ${result.reason.replaceAll(/\s+/g, ' ')}`]
  const failures = result.outcomes.flatMap(({ suite, failures: tests }) =>
    tests.map((test) => `- ${suite}: \`${test}\`. ${why[nameOfFailure(suite, test)] ?? 'Not explained yet.'}`),
  )
  return failures.length === 0 ? [] : [`Failed on ${titleOf(column)}:`, failures.join('\n')]
}
