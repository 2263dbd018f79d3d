// npm run matrix [-- group... [--on target] [--only file] | --count]
//
// Runs the test files of the stores on every version of the servers they are for, records what was found in results.json, and
// writes docs/compatibility.md from it. With names of groups (groups.ts), targets (`--on mysql-9`) and files (`--only
// checkup`), only these: the rest stays as recorded, with its date. `--count` runs nothing, and counts again how many commits
// the page is behind. Ends with 1 if anything failed or could not be had, with 2 for a wrong name.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { run } from '../../test/kit/servers/commands.ts'
import { runCommand } from '../kit/command.ts'
import { filesOf, GROUPS, type Group } from './groups.ts'
import { isAllWell, pageOf, sumOf, textOf } from './page.ts'
import {
  counted,
  merged,
  readRecorded,
  thisRun,
  writeRecorded,
  type Recorded,
  type RecordedColumn,
  type RecordedGroup,
} from './recorded.ts'
import { runSuites } from './run-suites.ts'
import type { Target } from './targets.ts'

const PAGE = 'docs/compatibility.md'
const USAGE = `usage: npm run matrix -- [group...] [options]
  --on TARGET  on targets with this in their name
  --only FILE  test files with this in their name
  --count      runs nothing, and counts again how many commits the page is behind`

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

interface Command {
  readonly names: readonly string[]
  readonly on: string
  readonly only: string
  readonly count: boolean
}

function readCommand(args: readonly string[]): Command {
  const { values, positionals: names } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      on: { type: 'string', default: '' },
      only: { type: 'string', default: '' },
      count: { type: 'boolean', default: false },
    },
  })
  const unknown = names.filter((name) => !GROUPS.some((group) => group.name === name))
  const known = GROUPS.map(({ name }) => name).join(', ')
  if (unknown.length > 0) throw new TypeError(`expected names out of ${known}; got ${unknown.join(', ')}`)
  return { names, ...values }
}

async function runMatrix({ names, on, only, count }: Command, signal: AbortSignal): Promise<number> {
  if (count) {
    await write(readRecorded())
    return 0
  }
  const found: RecordedGroup[] = []
  for (const group of GROUPS.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const files = filesOf(group).filter((file) => file.includes(only))
    const targets = group.targets.filter(({ name }) => name.includes(on))
    if (files.length === 0 || targets.length === 0) console.error(`${group.name}: nothing to run`)
    else found.push(await find({ ...group, targets }, files, signal))
  }
  await write(withFound(readRecorded(), found))
  return found.length > 0 && isAllWell(found) ? 0 : 1
}

function withFound(before: Recorded, found: readonly RecordedGroup[]): Recorded {
  const groups = GROUPS.flatMap((group): readonly RecordedGroup[] => {
    const known = before.groups.find(({ name }) => name === group.name)
    const now = found.find(({ name }) => name === group.name)
    const suites = filesOf(group).map((file) => basename(file, '.test.ts'))
    const both = now === undefined ? known : merged(known, now, suites)
    return both === undefined ? [] : [both]
  })
  return { ...before, groups }
}

/** One target after the other: the tests of one use all cores. */
async function find(
  { name, clients, targets }: Group,
  files: readonly string[],
  signal: AbortSignal,
): Promise<RecordedGroup> {
  const columns: RecordedColumn[] = []
  for (const target of targets) columns.push(await findOn(target, files, signal))
  return { name, clients: versionsOf(clients), columns }
}

async function findOn({ name, start }: Target, files: readonly string[], signal: AbortSignal): Promise<RecordedColumn> {
  const ofRun = thisRun()
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-matrix-'))
  console.error(`\n== ${name}`)
  try {
    const { reported, env, stop } = await start()
    try {
      const outcomes = await runSuites(files, { env, folder, signal })
      console.error(`== ${name} (${reported}): ${textOf(sumOf(outcomes))}`)
      return { name, result: { reported, outcomes: outcomes.map((one) => ({ ...one, run: ofRun })) } }
    } finally {
      await stop()
    }
  } catch (error) {
    if (signal.aborted) throw error
    const reason = (error as Error).message
    console.error(`== ${name}: not run: ${reason}`)
    return { name, result: { reason } }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function write(recorded: Recorded): Promise<void> {
  const now = counted(recorded)
  writeRecorded(now)
  writeFileSync(PAGE, pageOf(now))
  await run('npx', ['--no-install', 'oxfmt', PAGE], { timeoutMs: 60_000, env: process.env })
  console.error(`\nwritten: ${PAGE}`)
}

/** Versions of the clients that the tests run with. */
function versionsOf(clients: RegExp): readonly string[] {
  const found = ['.', 'examples/orm'].flatMap((folder) => {
    const { dependencies, devDependencies } = readManifest(folder)
    const names = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => clients.test(name))
    return names.map((name) => {
      const { name: itsOwn, version } = readManifest(join(folder, 'node_modules', name))
      return `${itsOwn} ${version}`
    })
  })
  return [...new Set(found)].toSorted()
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

await runCommand({ usage: USAGE, read: readCommand, run: runMatrix })
