import type { SuiteOutcome } from './outcome.ts'

/** Results of the matrix for each group of test files. */
export interface Findings {
  readonly title: string
  /** As `name version`. */
  readonly clients: readonly string[]
  readonly columns: readonly Column[]
}

/** One target of a group. */
export interface Column {
  /** As it was asked for. */
  readonly name: string
  readonly result: Result
}

type Result =
  | { readonly reported: string; readonly outcomes: readonly SuiteOutcome[] }
  /** Why nothing could be run. */
  | { readonly reason: string }

/** Where and when it was run. */
export interface Circumstances {
  readonly date: string
  readonly node: string
  readonly system: string
}

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

const HEAD = `# Compatibility

What passes on which server: the test files of every store, each run on a server of its own of that version, which is given as the
server itself says it.`

export function pageOf(findings: readonly Findings[], { date, node, system }: Circumstances): string {
  const written = `Written by \`npm run matrix\` on ${date}, with Node ${node} on ${system}. Changes by hand do not outlive the next run.`
  return `${[HEAD, written, ...findings.map(sectionOf)].join('\n\n')}\n`
}

/** Nothing failed, and nothing was left out. */
export function isAllWell(findings: readonly Findings[]): boolean {
  return findings.every(({ columns }) =>
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

function sectionOf({ title, clients, columns }: Findings): string {
  const parts = [`## ${title}`]
  if (clients.length > 0) parts.push(`Clients: ${clients.join(', ')}.`)
  parts.push(tableOf(columns), ...skipsOf(columns), ...columns.flatMap(problemsOf))
  return parts.join('\n\n')
}

function tableOf(columns: readonly Column[]): string {
  const suites = new Set(outcomesIn(columns).map(({ suite }) => suite))
  const rows = [
    ['', ...columns.map(titleOf)],
    ['---', ...columns.map(() => '---')],
    ...[...suites].map((suite) => [suite, ...columns.map((column) => cellOf(column, suite))]),
    [
      '**all**',
      ...columns.map(({ result }) => ('outcomes' in result ? textOf(sumOf(result.outcomes)) : '**not run**')),
    ],
  ]
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function titleOf({ name, result }: Column): string {
  return 'outcomes' in result ? result.reported : name
}

function outcomesIn(columns: readonly Column[]): readonly SuiteOutcome[] {
  return columns.flatMap(({ result }) => ('outcomes' in result ? result.outcomes : []))
}

function cellOf({ result }: Column, suite: string): string {
  const outcome = 'outcomes' in result ? result.outcomes.find((one) => one.suite === suite) : undefined
  return outcome === undefined ? '' : textOf(outcome)
}

/** Why something was skipped, if anything was. */
function skipsOf(columns: readonly Column[]): readonly string[] {
  const reasons = new Set(outcomesIn(columns).flatMap(({ skippedFor }) => skippedFor))
  return reasons.size === 0 ? [] : [`Skipped because: ${[...reasons].join('; ')}.`]
}

/** A list of what failed, if anything did. */
function problemsOf(column: Column): readonly string[] {
  const { name, result } = column
  if ('reason' in result) return [`Not run on ${name}: ${result.reason.replaceAll(/\s+/g, ' ')}`]
  const failures = result.outcomes.flatMap(({ suite, failures: tests }) =>
    tests.map((test) => `- ${suite}: \`${test}\``),
  )
  return failures.length === 0 ? [] : [`Failed on ${titleOf(column)}:`, failures.join('\n')]
}
