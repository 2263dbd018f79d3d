import type { Machine } from './machine.ts'
import { rateOf, type Round } from './run-scenario.ts'
import { spreadOf, type Spread } from './statistics.ts'
import { CPU_EACH, type Bound, type Measurement, type Ratio, type Scenario } from './suite.ts'

export interface Report {
  readonly machine: Machine
  readonly suite: string
  /** Then no figure means anything. */
  readonly smoke: boolean
  readonly scenarios: readonly ScenarioReport[]
}

export interface ScenarioReport {
  readonly name: string
  readonly title: string
  readonly run: RunFacts
  readonly repetitions: number
  readonly contenders: readonly ContenderReport[]
  readonly ratios: readonly RatioReport[]
  readonly bounds: readonly BoundReport[]
}

/** When and of what a scenario ran. */
export interface RunFacts {
  /** ISO 8601 */
  readonly at: string
  readonly commit: string
  /** How many processes wanted a core, as averages of a minute. The bench itself is some of the last. */
  readonly load: { readonly start: number; readonly end: number }
  /** Which contenders could not run there, and why. @defaultValue all could */
  readonly leftOut?: readonly string[]
}

export interface BoundReport extends Bound {
  readonly found: Spread
}

interface RatioReport extends Ratio {
  readonly rate: Spread
  /** Ratio of the CPU time per message. On a shared machine it says more than the rate. */
  readonly cpu: Spread
}

interface ContenderReport {
  readonly name: string
  readonly messages: number
  /** Messages in a second. */
  readonly rate: Spread
  /** CPU time of the process for each message. */
  readonly cpuMicroseconds: Spread
  readonly figures: Readonly<Record<string, Spread>>
}

export function reportOf(
  { name, title, contenders, ratios, bounds = [] }: Scenario,
  rounds: readonly Round[],
  run: RunFacts,
): ScenarioReport {
  return {
    name,
    title,
    run,
    repetitions: rounds.length,
    contenders: contenders.map((contender) => contenderReport(contender.name, rounds)),
    ratios: ratios.map((ratio) => ({
      ...ratio,
      rate: ratioOf(ratio, rounds, rateOf),
      cpu: ratioOf(ratio, rounds, cpuOf),
    })),
    bounds: bounds.map((bound) => ({
      ...bound,
      found: spreadOf(rounds.map((round) => boundedIn(round, bound))),
    })),
  }
}

export function textOf({ machine, suite, smoke, scenarios }: Report): string {
  return [`${suite}: ${machineText(machine)}`, ...(smoke ? [SMOKE] : []), ...scenarios.map(scenarioText)].join('\n\n')
}

export const SMOKE = 'A smoke run: no figure means anything.'

export function machineText({ node, system, processor, cores, memoryGb, versions }: Machine): string {
  const named = Object.entries({ node, ...versions }).map(([name, version]) => `${name} ${version}`)
  return `${cores} x ${processor}, ${memoryGb} GB, ${system}, ${named.join(', ')}`
}

function contenderReport(name: string, rounds: readonly Round[]): ContenderReport {
  const measured = rounds.map((round) => measurementIn(round, name))
  const [first] = measured
  const figures = Object.keys(first?.figures ?? {})
  return {
    name,
    messages: first?.messages ?? 0,
    rate: spreadOf(measured.map(rateOf)),
    cpuMicroseconds: spreadOf(measured.map(cpuOf)),
    figures: Object.fromEntries(
      figures.map((figure) => [figure, spreadOf(measured.map((one) => figureOf(one, figure)))]),
    ),
  }
}

function ratioOf({ of, to }: Ratio, rounds: readonly Round[], valueOf: (measured: Measurement) => number): Spread {
  return spreadOf(rounds.map((round) => valueOf(measurementIn(round, of)) / valueOf(measurementIn(round, to))))
}

function boundedIn(round: Round, { of, figure, timesThatOf, aboveThatOf }: Bound): number {
  const value = figureOf(measurementIn(round, of), figure)
  if (aboveThatOf !== undefined) return value - figureOf(measurementIn(round, aboveThatOf), figure)
  return timesThatOf === undefined ? value : value / figureOf(measurementIn(round, timesThatOf), figure)
}

/** Microseconds for each message. */
export function cpuOf({ cpuMs, messages }: Measurement): number {
  return (cpuMs * 1_000) / messages
}

function figureOf(measured: Measurement, name: string): number {
  const value = name === CPU_EACH ? cpuOf(measured) : measured.figures?.[name]
  if (value === undefined) throw new Error(`no figure called ${name}`)
  return value
}

function measurementIn(round: Round, name: string): Measurement {
  const measurement = round[name]
  if (measurement === undefined) throw new Error(`no contender called ${name}`)
  return measurement
}

function scenarioText({
  title,
  run: { load, leftOut = [] },
  repetitions,
  contenders,
  ratios,
  bounds,
}: ScenarioReport): string {
  const rows = contenders.map(({ name, messages, rate, cpuMicroseconds, figures }) => [
    name,
    whole(messages),
    whole(rate.median),
    `${whole(rate.least)} - ${whole(rate.most)}`,
    cpuMicroseconds.median.toFixed(1),
    ...Object.values(figures).map((found) => rangeText(found)),
  ])
  const head = ['', 'messages', 'median/s', 'range', CPU_EACH, ...Object.keys(contenders[0]?.figures ?? {})]
  return [
    `${title}; medians of ${repetitions}; load ${ratio(load.start)} to ${ratio(load.end)}`,
    ...table([head, ...rows]),
    ...leftOut.map((why) => `  left out: ${why}`),
    ...ratios.map(({ of, to, goal, rate: { median, least, most }, cpu }) => {
      const outcome = goal === undefined ? '' : `, goal ${goal}: ${median >= goal ? 'met' : 'missed'}`
      return `  ${of} : ${to} = ${ratio(median)} (${ratio(least)} - ${ratio(most)})${outcome}; CPU x ${ratio(cpu.median)}`
    }),
    ...bounds.map((bound) => {
      const { of, figure, most } = bound
      return `  ${of}: ${figure} ${boundText(bound)}${besideText(bound)}, at most ${most}: ${isMet(bound) ? 'met' : 'missed'}`
    }),
  ].join('\n')
}

export function isMet({ most, in: judged = 'median', found }: BoundReport): boolean {
  return (judged === 'each' ? found.most : found.median) <= most
}

/** What a bound is measured by, if that is another contender. */
export function besideText({ timesThatOf, aboveThatOf }: Bound): string {
  if (aboveThatOf !== undefined) return ` above ${aboveThatOf}`
  return timesThatOf === undefined ? '' : ` times that of ${timesThatOf}`
}

/** The median of a bound and its range. */
export function boundText({ timesThatOf, found }: BoundReport): string {
  return rangeText(found, timesThatOf === undefined ? short : ratio)
}

/** A median, and where repetitions differed, from what to what. */
export function rangeText({ median, least, most }: Spread, text: (value: number) => string = short): string {
  return text(least) === text(most) ? text(median) : `${text(median)} (${text(least)} - ${text(most)})`
}

/** The first column to the left, all others to the right. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => {
    const cells = row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
    return `  ${cells.join('  ')}`
  })
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US')
export const short = (value: number): string => (value < 100 ? value.toFixed(1) : whole(value))
export const ratio = (value: number): string => value.toFixed(value < 10 ? 2 : 1)
