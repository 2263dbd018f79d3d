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
    if (!isUnknownScript(error)) throw namingRights(error, [run])
    return redis.run(byLua(run)).catch((failure: unknown) => {
      throw namingRights(failure, [run])
    })
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
    if (isUnknownScript(error)) {
      return redis.runBefore(runs.map(byLua), last).catch((failure: unknown) => {
        throw namingRights(failure, runs)
      })
    }
    // Only a script by itself follows a slot that has moved, and tells its client where to.
    if (isMoved(error)) await Promise.allSettled(runs.map((run) => runScript(redis, run)))
    throw namingRights(error, runs)
  }
}

/** Redis before 7.2 does not say which command of a script its user may not run. */
function namingRights(error: unknown, runs: readonly ScriptRun[]): unknown {
  if (!(error instanceof Error) || !/user executing the script can't run/.test(error.message)) return error
  const used = runs.flatMap(({ script }) =>
    [...script.lua.matchAll(/redis\.p?call\('(\w+)'/g)].map(([, name = '']) => name),
  )
  const rights = [...new Set(used)].map((name) => `+${name.toLowerCase()}`)
  return new Error(`a right is missing, one of ${rights.join(' ')}: ${error.message}`, { cause: error })
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
