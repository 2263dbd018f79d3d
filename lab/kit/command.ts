import { closeRun, openRun } from '../../test/kit/servers/test-run.ts'

interface Command<Wish> {
  readonly usage: string
  /** @throws TypeError for a wrong command */
  readonly read: (args: readonly string[]) => Wish
  /** `interrupted` aborts when a signal ends the process. Returns the exit code. */
  readonly run: (wish: Wish, interrupted: AbortSignal) => Promise<number>
}

const interrupted = new AbortController()

/**
 * Runs a command of a laboratory, and ends the process: with 2 for a wrong command. All that was started ends with it, also when
 * a signal ends it.
 */
export async function runCommand<Wish>(command: Command<Wish>): Promise<never> {
  return process.exit(await exitOf(command))
}

async function exitOf<Wish>({ usage, read, run }: Command<Wish>): Promise<number> {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    console.log(usage)
    return 0
  }
  let wish: Wish
  try {
    wish = read(args)
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    return 2
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => endBy(signal))
  // Servers hold no process up: without it this one would end while it waits for one to stop.
  setInterval(() => {}, 60_000)
  await openRun()
  try {
    return await run(wish, interrupted.signal)
  } catch (error) {
    if (interrupted.signal.aborted) return await new Promise(() => {})
    throw error
  } finally {
    await closeRun()
  }
}

/** Stops everything that was started. */
function endBy(signal: NodeJS.Signals): void {
  interrupted.abort()
  void closeRun().finally(() => process.kill(process.pid, signal))
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
