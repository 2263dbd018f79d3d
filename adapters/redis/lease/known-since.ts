import { StoreError, type EpochMs, type KnownSince } from '../../../src/spi.ts'
import type { KeyNames } from './key-names.ts'
import type { RedisPort } from './redis-port.ts'
import type { ScriptLine } from './script-line.ts'
import { SINCE } from './scripts/since.ts'
import { evicts, factsOf, type ServerFacts } from './server-facts.ts'

interface Parts {
  readonly redis: RedisPort
  readonly names: KeyNames
  readonly line: ScriptLine
  readonly shards: number
}

/**
 * Each claim writes the time of the first claim where it is missing, so a server that has lost all its data has a later
 * one. What a server may have lost without losing that time is known from INFO, where it is allowed.
 */
export async function knownSince(parts: Parts, scope: string): Promise<KnownSince | undefined> {
  const { redis, line } = parts
  const first = await firstClaim(parts, scope)
  if (first === undefined) return undefined
  const servers = await line.ask(redis.nodes().then((nodes) => Promise.all(nodes.map(factsOf))))
  const losses = servers.flatMap((server) => lossOf(server, first.now))
  return [{ at: first.at, because: 'the first claim of this consumer' }, ...losses].reduce((one, other) =>
    other.at > one.at ? other : one,
  )
}

interface FirstClaim {
  readonly at: EpochMs
  readonly now: EpochMs
}

/** In a cluster the latest of all shards: one without a time has no records yet, or has lost them. It gets one now. */
async function firstClaim(parts: Parts, scope: string): Promise<FirstClaim | undefined> {
  const { redis, names, shards } = parts
  const keys = redis.isCluster
    ? Array.from({ length: shards }, (_, shard) => names.firstClaim(scope, shard))
    : [names.firstClaim(scope)]
  const found = await Promise.all(keys.map((key) => readTime(parts, key, false)))
  if (found.every(({ at }) => at === undefined)) return undefined
  const all = await Promise.all(
    found.map(async (time, shard) => (time.at === undefined ? readTime(parts, keys[shard] ?? '', true) : time)),
  )
  return { at: Math.max(...all.map(({ at, now }) => at ?? now)), now: Math.max(...all.map(({ now }) => now)) }
}

async function readTime(
  { line }: Parts,
  key: string,
  isWritten: boolean,
): Promise<{ readonly at: EpochMs | undefined; readonly now: EpochMs }> {
  const reply = await line.runOne({ script: SINCE, keys: 1, words: [key, isWritten ? 1 : 0] })
  const [at, now] = Array.isArray(reply) ? reply.map(String) : []
  if (at === undefined || !/^\d*$/.test(at) || now === undefined) {
    throw new StoreError('STORE_AMBIGUOUS', `Redis: expected the time of the first claim in ${key}, got another value`)
  }
  return { at: at === '' ? undefined : Number(at), now: Number(now) }
}

function lossOf({ info }: ServerFacts, now: EpochMs): readonly KnownSince[] {
  if (info === undefined) return []
  if (evicts(info)) return [{ at: now, because: 'the server drops records when it is full (maxmemory-policy)' }]
  if (Number(info.get('evicted_keys') ?? 0) > 0) return [{ at: now, because: 'the server has dropped keys' }]
  const uptimeMs = Number(info.get('uptime_in_seconds')) * 1_000
  // A snapshot lacks what was marked after it.
  if (info.get('aof_enabled') === '1' || Number.isNaN(uptimeMs)) return []
  return [{ at: now - uptimeMs, because: 'the server has started then, without an append-only file' }]
}
