// npm run matrix [-- group...]
//
// Runs the test files of the stores on every version of the servers they are for, and writes docs/compatibility.md; with names
// of groups (groups.ts) only these, and to stdout. Ends with 1 if anything failed or could not be had, with 2 for a wrong name.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../test/kit/servers/commands.ts'
import { closeRun, openRun } from '../../test/kit/servers/test-run.ts'
import { filesOf, GROUPS, type Group } from './groups.ts'
import { isAllWell, pageOf, sumOf, textOf, type Column, type Findings } from './page.ts'
import { runSuites } from './run-suites.ts'
import type { Target } from './targets.ts'

const PAGE = 'docs/compatibility.md'
const interrupted = new AbortController()

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !GROUPS.some((group) => group.name === name))
  if (unknown.length > 0) {
    const known = GROUPS.map(({ name }) => name).join(', ')
    console.error(`expected names out of ${known}; got ${unknown.join(', ')}`)
    return 2
  }
  await openRun()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endBy(signal))
  try {
    const findings: Findings[] = []
    for (const group of GROUPS.filter(({ name }) => names.length === 0 || names.includes(name))) {
      const files = filesOf(group)
      if (files.length === 0) console.error(`${group.name}: no test files yet`)
      else findings.push(await find(group, files))
    }
    const page = pageOf(findings, circumstances())
    if (names.length > 0) console.log(page)
    else await write(page)
    return isAllWell(findings) ? 0 : 1
  } finally {
    await closeRun()
  }
}

/** One target after the other: the tests of one use all cores. */
async function find({ title, clients, targets }: Group, files: readonly string[]): Promise<Findings> {
  const columns: Column[] = []
  for (const target of targets) columns.push(await findOn(target, files))
  return { title, clients: versionsOf(clients), columns }
}

async function findOn({ name, start }: Target, files: readonly string[]): Promise<Column> {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-matrix-'))
  console.error(`\n== ${name}`)
  try {
    const { reported, env, stop } = await start()
    try {
      const outcomes = await runSuites(files, { env, folder, signal: interrupted.signal })
      console.error(`== ${name} (${reported}): ${textOf(sumOf(outcomes))}`)
      return { name, result: { reported, outcomes } }
    } finally {
      await stop()
    }
  } catch (error) {
    if (interrupted.signal.aborted) throw error
    const reason = (error as Error).message
    console.error(`== ${name}: not run: ${reason}`)
    return { name, result: { reason } }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function write(page: string): Promise<void> {
  writeFileSync(PAGE, page)
  await run('npx', ['--no-install', 'oxfmt', PAGE], { timeoutMs: 60_000, env: process.env })
  console.error(`\nwritten: ${PAGE}`)
}

/** Versions of the clients that the tests run with. */
function versionsOf(clients: RegExp): readonly string[] {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const names = Object.keys(devDependencies).filter((name) => clients.test(name))
  return names.map((name) => {
    const file = join('node_modules', name, 'package.json')
    const found = JSON.parse(readFileSync(file, 'utf8')) as { readonly name: string; readonly version: string }
    return `${found.name} ${found.version}`
  })
}

function circumstances(): { readonly date: string; readonly node: string; readonly system: string } {
  return { date: new Date().toISOString().slice(0, 10), node: process.version, system: `${platform()} ${arch()}` }
}

/** Stops everything that was started; no page is written. */
async function endBy(signal: NodeJS.Signals): Promise<void> {
  interrupted.abort()
  try {
    await closeRun()
  } finally {
    process.kill(process.pid, signal)
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (interrupted.signal.aborted) return
    console.error(error)
    process.exit(1)
  },
)
