import { ConfigError, givenOf, type LeaseStore } from '../../../src/spi.ts'
import { leaseOver } from './lease.ts'
import { resolveOptions, type LeaseOptions } from './options.ts'
import type { RedisPort } from './redis-port.ts'

/** @param methods - those by which a client of the library is recognised. @throws ConfigError `CONFIG_INVALID` */
export function leaseOn<Client>(
  library: string,
  methods: readonly string[],
  options: LeaseOptions & { readonly redis: Client },
  portOf: (redis: Client) => RedisPort,
): LeaseStore {
  refuseClientAsOptions(options, methods)
  const { redis, ...lease } = givenOf(options)
  const resolved = resolveOptions(lease, checkClient(library, redis, methods))
  return leaseOver(portOf(redis), resolved)
}

/**
 * Refuses a client that was passed instead of options: none of its many properties is an option.
 * @throws ConfigError `CONFIG_INVALID`
 */
function refuseClientAsOptions(options: unknown, methods: readonly string[]): void {
  if (!methods.every((name) => hasMethod(options, name))) return
  throw new ConfigError(['redis: expected options, { redis: client }, got the client itself'])
}

/** Problems of the value given as a client; none if it has all these methods. */
function checkClient(library: string, redis: unknown, methods: readonly string[]): string[] {
  const missing = methods.filter((name) => !hasMethod(redis, name))
  if (missing.length === 0) return []
  const isObject = typeof redis === 'object' && redis !== null
  const got = isObject ? `an object without the methods ${missing.join(', ')}` : redis === null ? 'null' : typeof redis
  return [`redis: expected a client of ${library}, got ${got}`]
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[name] === 'function'
}
