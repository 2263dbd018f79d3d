import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { composeStop } from './compose.ts'
import { endTree, startedAt } from './process-tree.ts'

// A test run is a folder all its processes know by an environment variable:
//
//   owner.json, host  who opened it and where, so that a later run can clear up after one that was killed
//   processes/<pid>   every server process started in the run, by whichever jest worker
//   compose/<name>    every service of docker-compose.yml started in the run
//   ports/<number>    ports given out
//   shared/           how each shared server was found (server.ts)
//   rabbitmq/         the versions of RabbitMQ that served the run
//   data/             the folders of the servers started here
//
// The end of the run stops everything in the ledger, also what a test forgot.

const VARIABLE = 'CONSUME_ONCE_TEST_RUN'
const PREFIX = 'consume-once-run-'
const GRACE_MS = 3_000

interface ProcessEntry {
  readonly pid: number
  readonly startedAt: string | undefined
  readonly endSignal: NodeJS.Signals
}

/** A path below the folder of the current run. */
export function inRun(...path: readonly string[]): string {
  const folder = process.env[VARIABLE]
  if (folder === undefined) {
    throw new Error('no test run is open: start servers under jest, or by test/kit/servers/with-servers.ts')
  }
  return join(folder, ...path)
}

/** Opens a run for this process and its children, having cleared up runs whose process was killed. */
export async function openRun(): Promise<void> {
  await Promise.all(abandonedRuns().map(clearUp))
  const folder = mkdtempSync(join(tmpdir(), PREFIX))
  chmodSync(folder, 0o711) // Postgres, which refuses to run as root, must reach its data.
  for (const part of ['processes', 'compose', 'ports', 'shared', 'rabbitmq', 'data']) mkdirSync(join(folder, part))
  writeFileSync(join(folder, 'owner.json'), entryOf(process.pid, 'SIGKILL'))
  writeFileSync(join(folder, 'host'), hostname()) // Last: without it the folder is nobody's.
  process.env[VARIABLE] = folder
}

/** Another run may be at it too. */
async function clearUp(folder: string): Promise<void> {
  await closeFolder(folder).catch((error: unknown) => {
    if (existsSync(folder)) throw error
  })
}

/** Ends everything the run started and removes its folder. May be called twice. */
export async function closeRun(): Promise<void> {
  const folder = process.env[VARIABLE]
  if (folder === undefined) return
  delete process.env[VARIABLE]
  await closeFolder(folder)
}

export function recordProcess(pid: number, endSignal: NodeJS.Signals): void {
  writeFileSync(inRun('processes', String(pid)), entryOf(pid, endSignal))
}

export function forgetProcess(pid: number): void {
  rmSync(join(process.env[VARIABLE] ?? '/nonexistent', 'processes', String(pid)), { force: true })
}

export function recordCompose(service: string): void {
  writeFileSync(inRun('compose', service), '')
}

async function closeFolder(folder: string): Promise<void> {
  // The process that removed it before may have been killed half-way.
  const ledger = (part: string): readonly string[] => {
    const path = join(folder, part)
    return existsSync(path) ? readdirSync(path) : []
  }
  const entries = ledger('processes').map((pid) => readEntry(join(folder, 'processes', pid)))
  const services = ledger('compose')
  const ended = await Promise.allSettled([
    ...entries.filter(isAlive).map(({ pid, endSignal }) => endTree(pid, endSignal, GRACE_MS)),
    ...services.map((service) => composeStop(service)),
  ])
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const reasons = ended.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
  if (reasons.length > 0) throw new Error(`not everything the test run started could be ended: ${reasons.join('; ')}`)
}

/** Only of this user and this host: the processes of others are not ours, or cannot be seen from here. */
function abandonedRuns(): readonly string[] {
  return runs().filter(isAbandoned)
}

/** Folders of the other runs on this machine. */
export function otherRuns(): readonly string[] {
  return runs().filter((folder) => folder !== process.env[VARIABLE])
}

function runs(): readonly string[] {
  const names = readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX))
  return names.map((name) => join(tmpdir(), name))
}

function isAbandoned(folder: string): boolean {
  try {
    const isOurs =
      statSync(folder).uid === process.getuid?.() && readFileSync(join(folder, 'host'), 'utf8') === hostname()
    return isOurs && !isAlive(readEntry(join(folder, 'owner.json')))
  } catch {
    return false // Another run is removing it, or has just made it and not yet written its owner.
  }
}

function entryOf(pid: number, endSignal: NodeJS.Signals): string {
  return JSON.stringify({ pid, startedAt: startedAt(pid), endSignal } satisfies ProcessEntry)
}

function readEntry(file: string): ProcessEntry {
  return JSON.parse(readFileSync(file, 'utf8')) as ProcessEntry
}

/** By pid and start time: a pid alone may have been given to a stranger since. */
function isAlive(entry: ProcessEntry): boolean {
  return entry.startedAt !== undefined && startedAt(entry.pid) === entry.startedAt
}
