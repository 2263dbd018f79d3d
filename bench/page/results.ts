import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../report.ts'

const FOLDER = 'bench/results'

/** Last recorded run of each suite by its name: `npm run bench -- <suite> --record`. */
export function recordedReports(): ReadonlyMap<string, Report> {
  const files = existsSync(FOLDER) ? readdirSync(FOLDER).filter((file) => file.endsWith('.json')) : []
  const reports = files.map((file) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Report)
  return new Map(reports.map((report) => [report.suite, report]))
}
