import {
  latestOf,
  sinceFirst,
  sinceKept,
  StoreError,
  type DurationMs,
  type EpochMs,
  type KnownSince,
} from '../../../src/internal.ts'
import type { KeyNames } from '../records/key-names.ts'
import type { RedisPort } from '../clients/redis-port.ts'
import type { ScriptLine } from '../calls/script-line.ts'
import { SINCE } from '../scripts/since.ts'
import { evicts, factsOf, type ServerFacts } from '../servers/server-facts.ts'

/** Where the times of scopes are. */
export interface Scopes {
  readonly redis: RedisPort
  readonly names: KeyNames
  readonly line: ScriptLine
  readonly shards: number
}

/**
 * Each claim writes the time of the first one where it is missing, so a server that has lost all its data has a later
 * one. What a server may have lost without losing that time is known from INFO, where it is allowed.
 */
export async function knownSince(scopes: Scopes, scope: string): Promise<KnownSince | undefined> {
  const { redis, line } = scopes
  const times = await timesOf(scopes, scope)
  if (times === undefined) return undefined
  const { first, retentions, now } = times
  const servers = await line.ask(redis.nodes().then((nodes) => Promise.all(nodes.map(factsOf))))
  const losses = servers.flatMap((server) => lossOf(server, now))
  return latestOf(sinceFirst(first), [...losses, ...sinceKept(now, retentions)])
}

/** Makes the scope known, in all shards of a cluster. */
export async function noteUse(scopes: Scopes, scope: string, retentionMs: DurationMs): Promise<void> {
  await Promise.all(keysOf(scopes, scope).map((key) => askTimes(scopes, key, String(retentionMs))))
}

interface Times {
  readonly first: EpochMs
  readonly retentions: readonly (readonly [DurationMs, EpochMs])[]
  readonly now: EpochMs
}

/** In a cluster the latest of all shards: one without a time has no records yet, or has lost them. It gets one now. */
async function timesOf(scopes: Scopes, scope: string): Promise<Times | undefined> {
  const keys = keysOf(scopes, scope)
  const found = await Promise.all(keys.map((key) => askTimes(scopes, key, '')))
  if (found.every(({ first }) => first === undefined)) return undefined
  const all = await Promise.all(
    found.map(async (times, shard) => (times.first === undefined ? askTimes(scopes, keys[shard] ?? '', '-') : times)),
  )
  return {
    first: Math.max(...all.map(({ first, now }) => first ?? now)),
    retentions: all.flatMap(({ retentions }) => retentions),
    now: Math.max(...all.map(({ now }) => now)),
  }
}

function keysOf({ redis, names, shards }: Scopes, scope: string): readonly string[] {
  if (!redis.isCluster) return [names.since(scope)]
  return Array.from({ length: shards }, (_, shard) => names.since(scope, shard))
}

type ShardTimes = Omit<Times, 'first'> & { readonly first: EpochMs | undefined }

/** @param written - as ARGV of the script */
async function askTimes({ line }: Scopes, key: string, written: string): Promise<ShardTimes> {
  const reply = await line.runOne({ script: SINCE, keys: 1, words: [key, written] })
  const [text, now] = Array.isArray(reply) ? reply.map(String) : []
  if (text === undefined || now === undefined || !/^(?:\d+(?:\|\d+:\d+)*)?$/.test(text)) {
    throw new StoreError('STORE_AMBIGUOUS', `Redis: expected the times of a scope in ${key}, got another value`)
  }
  const [first = '', ...used] = text.split('|')
  const retentions = used.map((one): readonly [DurationMs, EpochMs] => {
    const [retentionMs, until] = one.split(':')
    return [Number(retentionMs), Number(until)]
  })
  return { first: first === '' ? undefined : Number(first), retentions, now: Number(now) }
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
