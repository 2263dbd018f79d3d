import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { backends } from '../backends.ts'
import { addressOf, type Endpoint, type ServerAddresses, type ServerName } from './catalogue.ts'
import { startedAt } from './process-tree.ts'
import { inRun } from './test-run.ts'
import { findServer } from './ways.ts'

/**
 * How long the first call for a server may take where nothing is installed yet: the timeout of a `beforeAll` that
 * calls `server`. A run of the whole suite has looked for them before.
 */
export const SERVER_WITHIN_MS = 900_000

/**
 * The server all tests of this run share. The first to ask, of all jest workers, looks for it (see ways.ts) and the
 * others wait for the outcome, which may be the error. It is shared: keep to names of your own (`uniqueName`), and take
 * a private instance to do harm.
 */
export async function server<N extends ServerName>(name: N): Promise<ServerAddresses[N]> {
  if (!backends.has(name)) {
    throw new Error(`BACKENDS leaves ${name} out: ask backends.has('${name}') before server('${name}')`)
  }
  return addressOf(name, await sharedEndpoint(name))
}

/** The same regardless of BACKENDS. */
export async function sharedEndpoint(name: ServerName): Promise<Endpoint> {
  const outcome = await outcomeOf(name)
  if ('error' in outcome) throw new Error(outcome.error)
  return outcome.endpoint
}

/** The process that looks for a server on behalf of the run. */
interface Seeker {
  readonly pid: number
  readonly since: string | undefined
}

type Outcome = { readonly endpoint: Endpoint } | { readonly error: string }

async function outcomeOf(name: ServerName): Promise<Outcome> {
  for (;;) {
    const known = readOutcome(name)
    if (known) return known
    if (becomesSeeker(name)) break
    await sleep(100)
  }
  try {
    return readOutcome(name) ?? writeOutcome(name, await look(name))
  } finally {
    rmSync(seekerFileOf(name), { force: true })
  }
}

async function look(name: ServerName): Promise<Outcome> {
  try {
    return { endpoint: await findServer(name) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

/**
 * A link is made whole by one process and refused to all others, so that one of them looks until it has written the
 * outcome. If it died before, the next one goes on; should two notice that at once, two servers are started, which is
 * harmless: both end with the run.
 */
function becomesSeeker(name: ServerName): boolean {
  const own = `${seekerFileOf(name)}-${process.pid}`
  writeFileSync(own, JSON.stringify({ pid: process.pid, since: startedAt(process.pid) } satisfies Seeker))
  try {
    linkSync(own, seekerFileOf(name))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const other = readJson(seekerFileOf(name)) as Seeker | undefined
    if (other && startedAt(other.pid) !== other.since) rmSync(seekerFileOf(name), { force: true })
    return false
  } finally {
    rmSync(own)
  }
}

function readOutcome(name: ServerName): Outcome | undefined {
  return readJson(outcomeFileOf(name)) as Outcome | undefined
}

function writeOutcome(name: ServerName, outcome: Outcome): Outcome {
  writeFileSync(`${outcomeFileOf(name)}.part`, JSON.stringify(outcome))
  renameSync(`${outcomeFileOf(name)}.part`, outcomeFileOf(name)) // Whole or not at all for those who wait.
  return outcome
}

const outcomeFileOf = (name: ServerName): string => inRun('shared', `${name}.json`)
const seekerFileOf = (name: ServerName): string => inRun('shared', `${name}.seeker`)

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
