import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Recorded } from './figures.ts'

const FILE = fileURLToPath(new URL('results.json', import.meta.url))

export function readRecorded(): Recorded {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Recorded
}

export function writeRecorded(recorded: Recorded): void {
  writeFileSync(FILE, `${JSON.stringify(recorded, undefined, 2)}\n`)
}
