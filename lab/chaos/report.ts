import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EvidenceOfEffects } from './evidence.ts'
import type { Journal } from './journal.ts'
import type { RunOptions } from './plan.ts'
import type { Verdict } from './verdict.ts'

export interface ChaosRun {
  readonly options: RunOptions
  readonly verdict: Verdict
  readonly journal: Journal
  /** All that was judged. */
  readonly evidence: EvidenceOfEffects
  readonly seconds: number
}

/** Failures, one line each. A run without any passed. */
export function failuresOf({ verdict, journal }: ChaosRun): readonly string[] {
  const broken = verdict.violations.map(({ law, detail }) => `${law}: ${detail}`)
  return [...journal.breaches, ...broken]
}

/** Summary of faults and results, for people. */
function figuresOf({ options, verdict, journal, seconds }: ChaosRun): string {
  const { counts } = journal
  const numbers: readonly (readonly [string, number])[] = [
    ...Object.entries({ ...verdict.figures, seconds }),
    ...[...counts].toSorted(([a], [b]) => a.localeCompare(b)),
  ]
  const lines = numbers.map(([name, number]) => `  ${name.padEnd(24)}${Math.round(number)}`)
  return [`${options.broker}, store ${options.store}, seed ${options.seed}`, ...lines].join('\n')
}

/** How to have the same messages and faults again. They meet at other moments: a replay need not fail. */
export function replayOf({ broker, soak, ...flags }: RunOptions): string {
  if (soak === undefined) return `npm run chaos -- ${broker} ${words(flags)}`
  const { messages, store, seed, planted } = flags
  return `npm run soak -- ${words({ broker, messages, minutes: soak.minutes, store, seed, planted })}`
}

function words(flags: object): string {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  return given.map(([name, value]) => `--${name} ${value}`).join(' ')
}

/** Violations shown for each law: the first ones show what is wrong. */
const SHOWN = 5

/** All of the above, with everything that was seen in a folder. */
export function explain(run: ChaosRun): string {
  const failures = failuresOf(run)
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-chaos-'))
  writeFileSync(join(folder, 'journal.txt'), run.journal.lines.join('\n'))
  writeFileSync(join(folder, 'failures.txt'), failures.join('\n'))
  writeFileSync(join(folder, 'evidence.json'), JSON.stringify(run.evidence, withCollections))
  return [
    `${failures.length} failures:`,
    ...run.journal.breaches.map((breach) => `  ${breach}`),
    ...byLaw(run.verdict).map((line) => `  ${line}`),
    figuresOf(run),
    `seen: ${folder}`,
    `the same faults, at other moments: ${replayOf(run.options)}`,
  ].join('\n')
}

function byLaw({ violations }: Verdict): readonly string[] {
  const laws = [...new Set(violations.map(({ law }) => law))]
  return laws.flatMap((law) => {
    const details = violations.filter((violation) => violation.law === law).map(({ detail }) => `  ${detail}`)
    return [`${law}: ${details.length}`, ...details.slice(0, SHOWN), ...(details.length > SHOWN ? ['  …'] : [])]
  })
}

/** Sets and maps as lists, which JSON has. */
function withCollections(_name: string, value: unknown): unknown {
  return value instanceof Set || value instanceof Map ? [...value] : value
}

/** A run that was asked for, ready to be started. */
export interface Command {
  readonly options: RunOptions
  readonly run: () => Promise<ChaosRun>
}

/** Runs it, and prints what came of it. Returns the exit code. */
export async function tell({ options, run }: Command): Promise<number> {
  console.log(replayOf(options))
  const ended = await run()
  const isGood = failuresOf(ended).length === 0
  console.log(isGood ? figuresOf(ended) : explain(ended))
  return isGood ? 0 : 1
}
