import { spawn } from 'node:child_process'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { untilAnswers } from './answers.ts'
import { lastWords } from './commands.ts'
import { endTree, freezeTree, killTree, thawTree } from './process-tree.ts'
import { forgetProcess, inRun, recordProcess } from './test-run.ts'

/** A server of one test, with its own ports and data. The test stops it; the end of the run stops the rest. */
export interface PrivateInstance extends AsyncDisposable {
  /** Process IDs of the server (Kafka: one for each broker); empty while it is down. */
  readonly pids: readonly number[]
  /** Ends it and removes its data. Legal in every state, twice too. */
  stop(): Promise<void>
  /** SIGKILL. The data stays for `restart`. */
  kill(): Promise<void>
  /** Starts it again on its data and ports, after a clean shutdown if it runs. Resolves when it answers. */
  restart(): Promise<void>
  /** SIGSTOP to all its processes: connections stay open, nothing answers. */
  freeze(): void
  /** SIGCONT, the end of `freeze`. */
  thaw(): void
}

export interface Recipe {
  /** From `newFolder`. */
  readonly folder: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly user?: SystemUser | undefined
  readonly answers: () => Promise<void>
  readonly readyWithinMs: number
  /** Stops it cleanly before a restart. */
  readonly shutdownSignal: 'SIGTERM' | 'SIGINT'
  /** Ends it for good: by SIGKILL, unless that leaves something outside its folder. */
  readonly endSignal: NodeJS.Signals
  /** Ends what else was started for it. */
  readonly afterEnd?: () => Promise<void>
}

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

interface ServerProcess {
  readonly pid: number
  hasEnded(): boolean
  /**
   * Resolves when the system has forgotten it. Until then Postgres takes its lock file for that of a living server. Whoever waits
   * stays alive: a process ends when it has nothing else to wait for.
   */
  reaped(): Promise<void>
}

const SHUTDOWN_WITHIN_MS = 15_000

/** A data folder below that of the run. */
export function newFolder(prefix: string, owner?: SystemUser): string {
  const folder = mkdtempSync(inRun('data', `${prefix}-`))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  return folder
}

export async function startInstance(recipe: Recipe): Promise<PrivateInstance> {
  let current: ServerProcess | undefined

  const start = async (): Promise<void> => {
    const started = launch(recipe)
    current = started
    const died = (): string | undefined => (started.hasEnded() ? `${recipe.command} ended at once` : undefined)
    try {
      await untilAnswers(recipe.answers, { withinMs: recipe.readyWithinMs, died })
    } catch (cause) {
      throw new Error(`${(cause as Error).message}${lastWords(readFileSync(logOf(recipe), 'utf8'))}`, { cause })
    }
  }
  const end = async (how: (pid: number) => Promise<void>): Promise<void> => {
    const ending = current
    current = undefined
    if (ending === undefined) return
    await how(ending.pid)
    await ending.reaped()
    forgetProcess(ending.pid)
  }
  const stop = async (): Promise<void> => {
    await end((pid) => endTree(pid, recipe.endSignal, SHUTDOWN_WITHIN_MS))
    await recipe.afterEnd?.()
    rmSync(recipe.folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const instance: PrivateInstance = {
    get pids() {
      return current === undefined ? [] : [current.pid]
    },
    stop,
    kill: () => end(killTree),
    async restart() {
      await end((pid) => endTree(pid, recipe.shutdownSignal, SHUTDOWN_WITHIN_MS))
      await start()
    },
    freeze: () => {
      if (current) freezeTree(current.pid)
    },
    thaw: () => {
      if (current) thawTree(current.pid)
    },
    [Symbol.asyncDispose]: stop,
  }
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return instance
}

/**
 * Detached and without pipes: a shared server outlives the jest worker that started it, and Ctrl-C in the terminal
 * reaches only the tests, which then end their servers in order.
 */
export function launch(
  recipe: Pick<Recipe, 'folder' | 'command' | 'args' | 'env' | 'user' | 'endSignal'>,
): ServerProcess {
  const log = openSync(logOf(recipe), 'a')
  const child = spawn(recipe.command, recipe.args, {
    cwd: recipe.folder,
    detached: true,
    env: recipe.env ?? process.env,
    stdio: ['ignore', log, log],
    ...recipe.user,
  })
  closeSync(log)
  child.once('error', () => {}) // Without a pid, which is told below.
  if (child.pid === undefined) throw new Error(`${recipe.command} cannot be started`)
  recordProcess(child.pid, recipe.endSignal)
  child.unref()
  const reaped = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
  return {
    pid: child.pid,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    reaped: () => {
      child.ref()
      return reaped
    },
  }
}

function logOf({ folder }: { readonly folder: string }): string {
  return join(folder, 'log')
}
