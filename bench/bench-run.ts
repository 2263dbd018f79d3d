import { loadavg } from 'node:os'
import { CATALOGUE, type ServerName } from '../test/kit/servers/catalogue.ts'
import { sharedEndpoint } from '../test/kit/servers/server.ts'
import { closeRun, openRun } from '../test/kit/servers/test-run.ts'
import type { Servers } from './machine.ts'

/** Servers that are started for `run` end with it, also by a signal. */
export async function inBenchRun(run: () => Promise<void>): Promise<void> {
  await openRun()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endBy(signal))
  try {
    await run()
  } finally {
    await closeRun()
  }
}

/** Those that the environment names, else those that the tests would find or start. */
export async function findServers(names: ReadonlySet<ServerName>): Promise<Servers> {
  const found = [...names].map(async (name) => [
    name,
    process.env[CATALOGUE[name].variable] ?? (await sharedEndpoint(name)),
  ])
  return Object.fromEntries(await Promise.all(found)) as Servers
}

/** How many processes wanted a core, as an average of the last minute. */
export function oneMinuteLoad(): number {
  return loadavg()[0] ?? 0
}

/** The command is wrong: nothing ran. */
export function refuse(why: string): void {
  console.error(why)
  process.exitCode = 2
}

async function endBy(signal: NodeJS.Signals): Promise<void> {
  try {
    await closeRun()
  } finally {
    process.kill(process.pid, signal)
  }
}
