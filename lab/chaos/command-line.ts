import { closeRun, openRun } from '../../test/kit/servers/test-run.ts'
import { explain, failuresOf, figuresOf, replayOf, type ChaosRun } from './report.ts'
import type { RunOptions } from './plan.ts'

/** A run that was asked for, ready to be started. */
export interface Command {
  readonly options: RunOptions
  readonly run: () => Promise<ChaosRun>
}

/** Ends the process with 0 for a good run, 1 for one that was not, 2 for a wrong command. */
export async function runCommand(usage: string, read: (args: readonly string[]) => Command): Promise<never> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void closeRun().finally(() => process.exit(1)))
  }
  process.exit(await exitOf(usage, read))
}

async function exitOf(usage: string, read: (args: readonly string[]) => Command): Promise<number> {
  if (process.argv.includes('--help')) {
    console.log(usage)
    return 0
  }
  let command: Command
  try {
    command = read(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    return 2
  }
  console.log(replayOf(command.options))
  await openRun()
  try {
    const run = await command.run()
    const isGood = failuresOf(run).length === 0
    console.log(isGood ? figuresOf(run) : explain(run))
    return isGood ? 0 : 1
  } finally {
    await closeRun()
  }
}

/** @throws TypeError for anything else */
export function whole(name: string, text: string, least: number): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new TypeError(`--${name}: expected a whole number from ${least}, got '${text}'`)
}

/** @throws TypeError for anything else */
export function oneOf<T extends string>(name: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text)
  if (found !== undefined) return found
  throw new TypeError(`--${name}: expected one of ${known.join(', ')}, got '${text}'`)
}

/** A random seed. Every run prints its seed, so that it can be repeated. */
export function anySeed(): string {
  return String(Math.floor(Math.random() * 2 ** 31))
}
