import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUITE_NAMES } from '../catalogue.ts'
import { filesOf, FOLDER, mixtureIn, PAGE, withResults } from './page.ts'
import { recordedReports } from './results.ts'

/** Writes docs/performance.md, its charts and its tables from the recorded runs. Returns its path. @throws where a suite is of several commits */
export function writePage(): string {
  const reports = recordedReports()
  const mixture = mixtureIn(reports)
  if (mixture !== undefined) throw new Error(mixture)
  writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), SUITE_NAMES, reports))
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER)
  for (const [file, text] of filesOf(SUITE_NAMES, reports)) writeFileSync(join(FOLDER, file), text)
  return PAGE
}
