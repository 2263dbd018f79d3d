import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUITE_NAMES } from '../catalogue.ts'
import { CHARTS, chartsOf, mixtureIn, PAGE, withResults } from './page.ts'
import { recordedReports } from './results.ts'

/** Writes docs/performance.md and its charts from the recorded runs. Returns its path. @throws where these are of several commits */
export function writePage(): string {
  const reports = recordedReports()
  const mixture = mixtureIn(reports)
  if (mixture !== undefined) throw new Error(mixture)
  writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), SUITE_NAMES, reports))
  rmSync(CHARTS, { recursive: true, force: true })
  const charts = chartsOf(reports)
  if (charts.size > 0) mkdirSync(CHARTS)
  for (const [file, chart] of charts) writeFileSync(join(CHARTS, file), chart)
  return PAGE
}
