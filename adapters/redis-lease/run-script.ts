import type { Argument, RedisPort } from './redis-port.ts'
import type { Script } from './scripts/script.ts'

/** By its digest; a server that does not know the script, after a restart or a failover, is sent the whole. */
export async function runScript(
  redis: RedisPort,
  { lua, sha }: Script,
  keys: number,
  words: readonly Argument[],
): Promise<unknown> {
  try {
    return await redis.run({ by: 'sha', script: sha, keys, words })
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    return redis.run({ by: 'lua', script: lua, keys, words })
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
