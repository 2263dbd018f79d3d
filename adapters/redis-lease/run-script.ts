import type { Argument, RedisPort, ScriptCall } from './redis-port.ts'
import type { Script } from './scripts/script.ts'

/** A script with what it is told. */
export interface ScriptRun {
  readonly script: Script
  readonly keys: number
  readonly words: readonly Argument[]
}

/** By its digest; a server that does not know the script, after a restart or a failover, is sent the whole. */
export async function runScript(redis: RedisPort, run: ScriptRun): Promise<unknown> {
  try {
    return await redis.run(bySha(run))
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    return redis.run(byLua(run))
  }
}

/** The same for several, and a raw command behind them. */
export async function runScriptsBefore(
  redis: RedisPort,
  runs: readonly ScriptRun[],
  last: readonly string[],
): Promise<readonly unknown[]> {
  try {
    return await redis.runBefore(runs.map(bySha), last)
  } catch (error) {
    if (isUnknownScript(error)) return redis.runBefore(runs.map(byLua), last)
    // Only a script by itself follows a slot that has moved, and tells its client where to.
    if (isMoved(error)) await Promise.allSettled(runs.map((run) => runScript(redis, run)))
    throw error
  }
}

function bySha({ script, keys, words }: ScriptRun): ScriptCall {
  return { by: 'sha', script: script.sha, keys, words }
}

function byLua({ script, keys, words }: ScriptRun): ScriptCall {
  return { by: 'lua', script: script.lua, keys, words }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

function isMoved(error: unknown): boolean {
  return error instanceof Error && /^(?:MOVED|ASK) /.test(error.message)
}
