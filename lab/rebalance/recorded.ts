import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Contender } from './plan.ts'
import type { Round } from './round.ts'

export interface Recorded {
  /** The day of the run. */
  readonly on: string
  readonly kafka: string
  readonly node: string
  /** All rounds of one run, in which the contenders took turns. */
  readonly rounds: Readonly<Record<Contender, readonly Round[]>>
}

const FILE = fileURLToPath(new URL('results.json', import.meta.url))

export function readRecorded(): Recorded {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Recorded
}

export function writeRecorded(recorded: Recorded): void {
  writeFileSync(FILE, `${JSON.stringify(recorded, undefined, 2)}\n`)
}
