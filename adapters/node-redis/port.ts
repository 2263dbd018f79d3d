import type { RedisPort, ScriptCall } from '../redis-lease/redis-port.ts'
import type { EvalOptions, RedisLike } from './redis-like.ts'

export function portOf(client: RedisLike): RedisPort {
  // Whatever its user wants replies to be, here they are text.
  const redis = client.withTypeMapping({}) as RedisLike
  return {
    isCluster: 'masters' in redis,
    run: (call) =>
      call.by === 'sha' ? redis.evalSha(call.script, wordsOf(call)) : redis.eval(call.script, wordsOf(call)),
  }
}

function wordsOf({ keys, words }: ScriptCall): EvalOptions {
  const texts = words.map(String)
  return { keys: texts.slice(0, keys), arguments: texts.slice(keys) }
}
