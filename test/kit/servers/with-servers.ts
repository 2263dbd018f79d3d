// npx tsx test/kit/servers/with-servers.ts -- command args...
//
// Runs a command with REDIS_URL, DATABASE_URL, MARIADB_URL, RABBITMQ_URL and KAFKA_BROKERS set, on servers found in the five ways of
// ways.ts, and ends what it started. Tests that the command runs use the same servers.

import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { addressesOfAll } from './addresses.ts'
import { closeRun, openRun } from './test-run.ts'

let child: ChildProcess | undefined

async function withServers(words: readonly string[]): Promise<number> {
  const [command, ...args] = words[0] === '--' ? words.slice(1) : words
  if (command === undefined) {
    console.error('usage: with-servers.ts -- command args...')
    return 2
  }
  try {
    await openRun()
    return await runCommand(command, args, { ...process.env, ...(await addressesOfAll()) })
  } finally {
    await closeRun()
  }
}

function runCommand(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    child = spawn(command, args, { env, stdio: 'inherit' })
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? codeOf(signal ?? 'SIGKILL')))
  })
}

/** The command decides what a signal means to it; before it runs, a signal ends the search. */
function onSignal(signal: NodeJS.Signals): void {
  const terminalHasToldIt = signal === 'SIGINT' && process.stdin.isTTY
  if (child === undefined) void closeRun().finally(() => process.exit(codeOf(signal)))
  else if (!terminalHasToldIt) child.kill(signal)
}

/** Exit code as a shell reports it. */
function codeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
withServers(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  },
)
