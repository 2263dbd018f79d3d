import { renameSync, writeFileSync } from 'node:fs'
import { backends } from '../backends.ts'
import { addressOf, type Endpoint, type ServerAddresses, type ServerName } from './catalogue.ts'
import { foundOnce, readJson } from './lock.ts'
import { noteVersion } from './rabbitmq/noted.ts'
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

type Outcome = { readonly endpoint: Endpoint } | { readonly error: string }

/** Should two seekers find one at the same time, both servers end with the run. */
function outcomeOf(name: ServerName): Promise<Outcome> {
  const known = (): Outcome | undefined => readJson(outcomeFileOf(name)) as Outcome | undefined
  return foundOnce(inRun('shared', `${name}.seeker`), known, async () => writeOutcome(name, await look(name)))
}

async function look(name: ServerName): Promise<Outcome> {
  try {
    const endpoint = await findServer(name)
    if (name === 'rabbitmq') await noteVersion('shared', endpoint)
    return { endpoint }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

function writeOutcome(name: ServerName, outcome: Outcome): Outcome {
  writeFileSync(`${outcomeFileOf(name)}.part`, JSON.stringify(outcome))
  renameSync(`${outcomeFileOf(name)}.part`, outcomeFileOf(name)) // Whole or not at all for those who wait.
  return outcome
}

const outcomeFileOf = (name: ServerName): string => inRun('shared', `${name}.json`)
