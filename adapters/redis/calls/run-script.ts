import type { Argument, RedisPort, ScriptCall } from '../clients/redis-port.ts'
import type { Script } from '../scripts/script.ts'

/** A script with its keys and arguments. */
export interface ScriptRun {
  readonly script: Script
  readonly keys: number
  readonly words: readonly Argument[]
}

/**
 * Runs a script by its digest. If the server does not know it, after a restart or a failover, sends the whole script.
 */
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

/** The same for several scripts, with a raw command after them. */
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
    // Only a single script follows a slot that has moved, and teaches its client the new place.
    if (isMoved(error)) await Promise.allSettled(runs.map((run) => runScript(redis, run)))
    throw namingRights(error, runs)
  }
}

/** Redis before 7.2 does not say which command of a script the user may not run. */
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
