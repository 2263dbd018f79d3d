import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Report, ScenarioReport } from './report.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RESULTS = fileURLToPath(new URL('results', import.meta.url))

/**
 * Writes `results/<suite>.json`. Scenarios that did not run now stay as they were recorded before: each tells when and of which
 * commit it is. Returns the file.
 */
export function record(report: Report, order: readonly string[], folder: string = RESULTS): string {
  const file = join(folder, `${report.suite}.json`)
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined
  const scenarios = order.flatMap((name): readonly ScenarioReport[] => {
    const isOf = (scenario: ScenarioReport): boolean => scenario.name === name
    const found = report.scenarios.find(isOf) ?? before?.scenarios.find(isOf)
    return found === undefined ? [] : [found]
  })
  // A run of one scenario may have had fewer servers.
  const versions = { ...before?.machine.versions, ...report.machine.versions }
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    file,
    `${JSON.stringify({ ...report, machine: { ...report.machine, versions }, scenarios }, undefined, 2)}\n`,
  )
  return file
}

/** Commit of the working tree, with `-changed` if a source file differs. Recorded results are not sources. */
export function currentCommit(): string {
  const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':!bench/results', ':!docs')
  return `${git('rev-parse', '--short=12', 'HEAD')}${changed === '' ? '' : '-changed'}`
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
