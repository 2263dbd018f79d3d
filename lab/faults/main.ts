// npm run faults -- [--only NAME] [--planted] [--list] [--at-once N] [--record]
//
// Exits with 0 if every cell had an expected outcome, with 1 if one did not, with 2 for a wrong command.

import { parseArgs } from 'node:util'
import { execFileSync } from 'node:child_process'
import { recordedParts, recordPart, type RecordedPart } from '../proof/part.ts'
import { runCommand } from '../kit/command.ts'
import { CELLS } from './cells/all.ts'
import { isNamed } from './cells/named.ts'
import { PLANTED } from './cells/planted.ts'
import type { Cell } from './cell.ts'
import { explain, legend, lineOf, mergedRecords, proofPart, recordsOf, type RecordedFamilies } from './report.ts'
import type { CellRun } from './run-cell.ts'
import { runCells } from './run-cells.ts'

const USAGE = `usage: npm run faults -- [options]
  --only NAME     cells of this name; * matches anything; may be repeated
  --planted       cells whose workers are wrong on purpose: each must fail
  --list          lists their names, and runs none
  --at-once N     cells at the same time (6)
  --record        writes docs/proof/faults.json; with --only, whole families of faults in it`

interface Command {
  readonly cells: readonly Cell[]
  readonly isList: boolean
  readonly isRecorded: boolean
  readonly atOnce: number
}

function readCommand(args: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      planted: { type: 'boolean' },
      list: { type: 'boolean' },
      record: { type: 'boolean' },
      'at-once': { type: 'string' },
    },
  })
  const { only = ['*'], planted = false, list = false, record = false, 'at-once': atOnce = '6' } = values
  const all = planted ? PLANTED.map(({ cell }) => cell) : CELLS
  const cells = all.filter(({ name }) => only.some((glob) => isNamed(name, glob)))
  if (cells.length === 0) throw new TypeError(`--only: no cell is called ${only.join(' or ')}`)
  if (!(Number(atOnce) >= 1)) throw new TypeError(`--at-once: expected a number from 1, got '${atOnce}'`)
  if (record && planted) throw new TypeError('--record: not with --planted')
  const families = new Set(cells.map(({ faultId }) => faultId))
  const isWhole = cells.length === CELLS.filter(({ faultId }) => families.has(faultId)).length
  if (record && !isWhole) throw new TypeError(`--record: expected whole families, such as --only 'F22.*'`)
  return { cells, isList: list, isRecorded: record, atOnce: Number(atOnce) }
}

/** Families that did not run stay as they were recorded. */
function recordFamilies(runs: readonly CellRun[], seconds: number, versions: Readonly<Record<string, string>>): void {
  const before: (RecordedPart & { readonly records?: readonly RecordedFamilies[] }) | undefined =
    recordedParts().get('faults')
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim()
  const fresh = recordsOf(runs, seconds, { ranOn: new Date().toISOString().slice(0, 10), commit })
  recordPart('faults', proofPart(mergedRecords(before?.records ?? [], fresh), { ...before?.versions, ...versions }))
}

async function run({ cells, atOnce, isList, isRecorded }: Command): Promise<number> {
  if (isList) {
    console.log(`${legend()}\n`)
    for (const { name, expects } of cells) console.log(`${name.padEnd(46)} ${expects.join(' or ')}`)
    return 0
  }
  const begunAt = performance.now()
  const { runs, versions } = await runCells(cells, atOnce, (ended) => console.log(lineOf(ended)))
  const seconds = (performance.now() - begunAt) / 1_000
  const failed = runs.filter(({ failures }) => failures.length > 0)
  for (const each of failed) console.log(explain(each))
  console.log(`${runs.length} cells, ${failed.length} failed, ${Math.round(seconds)} s`)
  if (isRecorded) recordFamilies(runs, seconds, versions)
  return failed.length === 0 ? 0 : 1
}

await runCommand({ usage: USAGE, read: readCommand, run })
