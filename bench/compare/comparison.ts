import type { Machine } from '../machine.ts'
import { cpuOf, machineText, ratio, SMOKE, table, whole, type RunFacts } from '../report.ts'
import { rateOf } from '../run-scenario.ts'
import { spreadOf, type Spread } from '../statistics.ts'
import { CPU_EACH, type Measurement } from '../suite.ts'

/** The library of the other commit, and that of the working tree. */
export type Build = 'before' | 'now'

/** Two runs one after the other, on the same messages. */
export type Pair = Readonly<Record<Build, Measurement>>

export interface Comparison {
  readonly machine: Machine
  /** Then no figure means anything. */
  readonly smoke: boolean
  /** Commit of the build `before`. */
  readonly before: string
  /** Commit of the working tree, with `-changed` if a file of it differs. */
  readonly now: string
  readonly pairs: number
  /** The least median of `rate`, where one was asked for. */
  readonly goal?: number | undefined
  readonly cases: readonly CaseReport[]
}

export type CaseReport = Compared | NotCompared

interface Compared {
  readonly name: string
  readonly title: string
  /** In each run. */
  readonly messages: number
  /** Messages in a second now, over those before, in each pair. */
  readonly rate: Spread
  /** CPU time of a message now, over that before, in each pair. */
  readonly cpu: Spread
  readonly before: Figures
  readonly now: Figures
  readonly load: RunFacts['load']
}

interface NotCompared {
  readonly name: string
  /** Whose run with a few messages failed, or `pair`: one that was to be measured. */
  readonly failed: Build | 'pair'
  readonly why: string
}

interface Figures {
  /** Messages in a second. */
  readonly rate: Spread
  readonly cpuMicroseconds: Spread
}

/** Fewer say nothing about how far apart they are. */
const LEAST_PAIRS = 3
/** A regression of half of it goes unnoticed. */
const WIDE = 0.2

export function caseReportOf(about: Pick<Compared, 'name' | 'title' | 'load'>, pairs: readonly Pair[]): CaseReport {
  const ratioOf = (valueOf: (measured: Measurement) => number): Spread =>
    spreadOf(pairs.map(({ before, now }) => valueOf(now) / valueOf(before)))
  const figuresOf = (build: Build): Figures => ({
    rate: spreadOf(pairs.map((pair) => rateOf(pair[build]))),
    cpuMicroseconds: spreadOf(pairs.map((pair) => cpuOf(pair[build]))),
  })
  return {
    ...about,
    messages: pairs[0]?.now.messages ?? 0,
    rate: ratioOf(rateOf),
    cpu: ratioOf(cpuOf),
    before: figuresOf('before'),
    now: figuresOf('now'),
  }
}

/** A case below the goal, or one that fails with the library as it is now. What the other commit cannot run is no failure of this one. */
export function isFailure({ goal, cases }: Comparison): boolean {
  const compared = cases.filter((one) => 'rate' in one)
  const failed = cases.some((one) => 'failed' in one && one.failed !== 'before')
  return failed || compared.length === 0 || compared.some(({ rate }) => goal !== undefined && rate.median < goal)
}

export function comparisonText(comparison: Comparison): string {
  const { machine, smoke, before, now, pairs, goal, cases } = comparison
  const compared = cases.filter((one) => 'rate' in one)
  const head = [
    '',
    'messages',
    'now : before',
    'range',
    'CPU x',
    'before/s',
    'now/s',
    `${CPU_EACH}: before`,
    'now',
    'load',
  ]
  const rows = compared.map(({ name, messages, rate, cpu, before: old, now: own, load }) => [
    name,
    whole(messages),
    ratio(rate.median),
    `${ratio(rate.least)} - ${ratio(rate.most)}`,
    ratio(cpu.median),
    whole(old.rate.median),
    whole(own.rate.median),
    old.cpuMicroseconds.median.toFixed(1),
    own.cpuMicroseconds.median.toFixed(1),
    `${ratio(load.start)} to ${ratio(load.end)}`,
  ])
  return [
    `${committedText(now)} over ${before}; medians of ${pairs} pairs in turn`,
    machineText(machine),
    ...(rows.length > 0 ? [table([head, ...rows]).join('\n')] : []),
    ...cases.flatMap((one) => remarksOn(one, comparison)),
    ...(goal === undefined
      ? []
      : [`Goal ${goal}: ${compared.every(({ rate }) => rate.median >= goal) ? 'met' : 'missed'}.`]),
    ...(smoke ? [SMOKE] : []),
  ].join('\n')
}

function committedText(commit: string): string {
  return commit.replace(/-changed$/, ' with changes that are not committed')
}

function remarksOn(one: CaseReport, { before, pairs, goal, smoke }: Comparison): readonly string[] {
  if ('failed' in one) {
    const { name, failed, why } = one
    if (failed === 'before') return [`${name}: does not run on ${before}: ${why}`]
    return [`${name}: FAILED ${failed === 'now' ? 'on the working tree' : 'in a pair'}: ${why}`]
  }
  if (smoke) return []
  const { name, rate } = one
  const missed = goal !== undefined && rate.median < goal ? [`${name}: ${ratio(rate.median)} is below ${goal}.`] : []
  return [...missed, ...doubtsAbout(rate, pairs).map((doubt) => `${name}: ${doubt}`)]
}

function doubtsAbout({ least, most }: Spread, pairs: number): readonly string[] {
  if (pairs < LEAST_PAIRS)
    return [`${pairs} of at least ${LEAST_PAIRS} pairs: how far they differ by chance is not known.`]
  const isWide = least < 1 && most > 1 && most - least > WIDE
  if (!isWide) return []
  return ['the pairs differ so much that the ratio says nothing: repeat it on a calm machine, or with more --reps.']
}
