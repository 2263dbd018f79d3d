import {
  checkNames,
  ConfigError,
  givenOf,
  resolveSequences,
  SEQUENCE_OPTIONS,
  shown,
  splitSequences,
  type LeaseStore,
  type SequenceOptions,
} from '../../../src/spi.ts'
import { leaseOver, sequencesIn } from './lease.ts'
import { markFirstOver } from './mark-first.ts'
import { LEASE_OPTIONS, resolveOptions, type LeaseOptions } from './options.ts'
import type { RedisPort } from './redis-port.ts'

/** @param methods - those by which a client of the library is recognised. @throws ConfigError `CONFIG_INVALID` */
export function leaseOn<Client>(
  library: string,
  methods: readonly string[],
  options: LeaseOptions & { readonly redis: Client },
  portOf: (redis: Client) => RedisPort,
): LeaseStore {
  refuseClientAsOptions(options, methods)
  const given = givenOf(options)
  const { redis } = given
  const problems = checkClient(library, redis, methods)
  checkNames('', given, { of: 'redisLease()', known: { redis: true, ...LEASE_OPTIONS } }, problems)
  const resolved = resolveOptions(given, problems)
  return leaseOver(portOf(redis), resolved)
}

/** The option of the scheme of the textbooks, beside those of leases. */
export interface MarkFirst {
  /** Says what it is: the mark is written before the effect, so a message is handled at most once, and may be lost. */
  readonly mode: 'mark-first'
}

/** As `leaseOn`. */
export function markFirstOn<Client>(
  library: string,
  methods: readonly string[],
  options: LeaseOptions & MarkFirst & { readonly redis: Client },
  portOf: (redis: Client) => RedisPort,
): LeaseStore {
  refuseClientAsOptions(options, methods)
  const given = givenOf(options)
  const { mode, redis } = given
  const problems = checkClient(library, redis, methods)
  checkNames('', given, { of: 'redisSetnx()', known: { redis: true, mode: true, ...LEASE_OPTIONS } }, problems)
  if (mode !== 'mark-first') {
    problems.push(
      `mode: expected 'mark-first', which handles a message at most once and may lose it, got ${shown(mode)}. To lose none, take redisLease`,
    )
  }
  const resolved = resolveOptions(given, problems)
  return markFirstOver(portOf(redis), resolved)
}

/** As `leaseOn`. */
export function sequencesOn<Client>(
  library: string,
  methods: readonly string[],
  options: LeaseOptions & SequenceOptions & { readonly redis: Client },
  portOf: (redis: Client) => RedisPort,
): LeaseStore {
  refuseClientAsOptions(options, methods)
  const given = givenOf(options)
  const { redis } = given
  const problems = checkClient(library, redis, methods)
  const known = { redis: true, ...LEASE_OPTIONS, ...SEQUENCE_OPTIONS }
  checkNames('', given, { of: 'redisSequences()', known }, problems)
  const { sequences, others } = splitSequences(given)
  const resolved = resolveOptions(others, problems)
  return sequencesIn(portOf(redis), resolved, resolveSequences(sequences, 'redisSequences'))
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
