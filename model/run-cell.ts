import { mkdtempSync, copyFileSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFile } from 'node:child_process'
import { run } from '../test/kit/servers/commands.ts'
import type { Cell, Search } from './cell.ts'
import { readReplay, type Counterexample } from './counterexample.ts'
import { readReport, type PanReport } from './pan-report.ts'
import type { Tools } from './spin.ts'

export interface CellRun extends PanReport {
  readonly cell: Cell
  readonly seconds: number
  readonly counterexample: Counterexample | undefined
}

export const PROMELA: string = join(import.meta.dirname, 'promela')
const MEMORY_MIB = 4_000
const SEARCH_WITHIN_MS = 900_000
const SEARCH_DEPTH = 3_000_000

const HOW: Readonly<Record<Search, { readonly compile: readonly string[]; readonly search: readonly string[] }>> = {
  reduced: { compile: ['-DSAFETY', '-DCOLLAPSE'], search: [] },
  full: { compile: ['-DSAFETY', '-DCOLLAPSE', '-DNOREDUCE'], search: [] },
  shortest: { compile: ['-DSAFETY', '-DCOLLAPSE', '-DNOREDUCE', '-DBFS'], search: [] },
  fair: { compile: ['-DCOLLAPSE', '-DNFAIR=3'], search: ['-a', '-f'] },
}

/** Has Spin write the search of a cell, compiles it, runs it to its end, and replays what it found. */
export async function runCell(cell: Cell, { spin, gcc }: Tools): Promise<CellRun> {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-model-'))
  const file = `${cell.model}.pml`
  const options = Object.entries(cell.defines).map(([name, value]) => `-D${name}=${value}`)
  const { compile, search } = HOW[cell.search]
  const inFolder = { cwd: folder, timeoutMs: 120_000 }
  try {
    for (const name of ['law.pml', file]) copyFileSync(join(PROMELA, name), join(folder, name))
    await run(spin, ['-a', ...options, file], inFolder)
    await run(
      gcc,
      [cell.quick === true ? '-O1' : '-O2', '-w', `-DMEMLIM=${MEMORY_MIB}`, ...compile, '-o', 'pan', 'pan.c'],
      inFolder,
    )
    const startedAt = performance.now()
    const output = await searchIn(folder, [`-m${SEARCH_DEPTH}`, '-w23', ...search])
    const seconds = (performance.now() - startedAt) / 1000
    const report = readReport(output)
    let counterexample: Counterexample | undefined
    if (report.finding.kind === 'violation') {
      const source = readFileSync(join(folder, file), 'utf8').split('\n')
      counterexample = readReplay(await run(spin, ['-t', '-T', ...options, file], inFolder), source)
    }
    return { cell, seconds, ...report, counterexample }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Its output shows how a search ended: the exit code says less. */
function searchIn(folder: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const settings = { cwd: folder, timeout: SEARCH_WITHIN_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 24 } as const
    execFile(join(folder, 'pan'), args, settings, (error, stdout, stderr) => {
      if (error?.killed === true) reject(new Error(`no end of the search within ${SEARCH_WITHIN_MS} ms`))
      else resolve(`${stdout}${stderr}`)
    })
  })
}
