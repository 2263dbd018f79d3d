import type { IoredisLike } from './ioredis-like.ts'
import { ioredisPort } from './ioredis.ts'
import type { NodeRedisLike } from './node-redis-like.ts'
import { nodeRedisPort } from './node-redis.ts'
import type { RedisPort } from './redis-port.ts'

/** A client of ioredis or of node-redis. */
export type RedisLike = IoredisLike | NodeRedisLike

/** Methods by which the clients of each library are recognised. */
const METHODS = {
  ioredis: ['evalsha', 'eval', 'call', 'pipeline'],
  'node-redis': ['evalSha', 'eval', 'multi', 'withTypeMapping'],
} as const

export function portOf(redis: RedisLike): RedisPort {
  return isIoredis(redis) ? ioredisPort(redis) : nodeRedisPort(redis)
}

export function isClient(value: unknown): value is RedisLike {
  return Object.values(METHODS).some((methods) => missing(value, methods).length === 0)
}

/** What a value is that is no client, for people. */
export function shownClient(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  const lacks = Object.entries(METHODS).map(
    ([library, methods]) => `${missing(value, methods).join(', ')} (of ${library})`,
  )
  return `an object without the methods ${lacks.join(' and without ')}`
}

function isIoredis(redis: RedisLike): redis is IoredisLike {
  return missing(redis, METHODS.ioredis).length === 0
}

function missing(value: unknown, methods: readonly string[]): readonly string[] {
  if (typeof value !== 'object' || value === null) return methods
  return methods.filter((name) => typeof (value as Record<string, unknown>)[name] !== 'function')
}
