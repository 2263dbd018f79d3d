// Part of `npm run fix`: writes docs/performance.md and its charts from the recorded runs.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUITE_NAMES } from '../catalogue.ts'
import { CHARTS, chartsOf, PAGE, withResults } from './page.ts'
import { recordedReports } from './results.ts'

const reports = recordedReports()
writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), SUITE_NAMES, reports))
rmSync(CHARTS, { recursive: true, force: true })
const charts = chartsOf(reports)
if (charts.size > 0) mkdirSync(CHARTS)
for (const [file, chart] of charts) writeFileSync(join(CHARTS, file), chart)
