import type { RedisNode } from '../clients/redis-port.ts'

/** Settings of a server. A setting that may not be read is `undefined`. */
export interface ServerFacts {
  readonly name: string
  /** The fields of INFO: `redis_version`, `role`, `maxmemory_policy`, … */
  readonly info: ReadonlyMap<string, string> | undefined
  /** `always`, `everysec` or `no`, even if there is no append-only file. */
  readonly appendfsync: string | undefined
  /** When snapshots are written, such as `3600 1 300 100`; empty: never. */
  readonly save: string | undefined
}

/** Reads the settings; changes nothing. Rejects if the server cannot be reached. */
export async function factsOf(node: RedisNode): Promise<ServerFacts> {
  // Before Redis 7 CONFIG GET takes one name.
  const setting = async (name: string): Promise<string | undefined> =>
    settingOf(await unlessForbidden(node.command(['CONFIG', 'GET', name])), name)
  const [info, appendfsync, save] = await Promise.all([
    unlessForbidden(node.command(['INFO'])),
    setting('appendfsync'),
    setting('save'),
  ])
  return { name: node.name, info: infoOf(info), appendfsync, save }
}

/** The user has no right, or a hosted service has disabled the command. */
const FORBIDDEN = /^(?:NOPERM|ERR unknown command|ERR .*(?:disabled|not allowed|not permitted|restricted))/i

async function unlessForbidden(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Error && FORBIDDEN.test(error.message)) return undefined
    throw error
  }
}

function infoOf(reply: unknown): ReadonlyMap<string, string> | undefined {
  if (typeof reply !== 'string') return undefined
  const facts = reply.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(':')
    return at < 0 || line.startsWith('#') ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
  })
  return facts.length === 0 ? undefined : new Map(facts)
}

/** A list of names and values, or the object that a client makes of a map. */
function settingOf(reply: unknown, name: string): string | undefined {
  if (typeof reply !== 'object' || reply === null) return undefined
  const value: unknown = Array.isArray(reply)
    ? reply[reply.indexOf(name) + 1]
    : reply instanceof Map
      ? reply.get(name)
      : (reply as Record<string, unknown>)[name]
  return typeof value === 'string' ? value : undefined
}

/** Product and version, for people. */
function versionOf(info: ReadonlyMap<string, string>): string {
  const valkey = info.get('valkey_version')
  return valkey === undefined ? `Redis ${info.get('redis_version') ?? 'of unknown version'}` : `Valkey ${valkey}`
}

/**
 * Why WAITAOF proves nothing on this server; `undefined` if it does. Redis 7.4.0 and 7.4.1 (redis#13793) and Valkey
 * reply before the writes are on disk, unless each write is synced.
 */
export function whyNoFsync({ info, appendfsync }: ServerFacts): string | undefined {
  if (info === undefined) return 'INFO is forbidden, so that nothing is known of the disk'
  const version = versionOf(info)
  const isValkey = info.has('valkey_version')
  if (!isValkey && isBefore(info.get('redis_version') ?? '', 7, 2))
    return `${version} has no WAITAOF, which came with 7.2`
  if (info.get('aof_enabled') !== '1') return 'appendonly is no'
  if (appendfsync === 'always') return undefined
  if (appendfsync === 'no') return 'appendfsync is no'
  if (isValkey || /^7\.4\.[01]$/.test(info.get('redis_version') ?? '')) {
    const found = appendfsync === undefined ? 'may not be looked at' : `is ${appendfsync}`
    return `appendfsync ${found}, and ${version} then answers before the disk has it; only always will do`
  }
  return undefined
}

function isBefore(version: string, major: number, minor: number): boolean {
  const [ofMajor = 0, ofMinor = 0] = version.split('.').map(Number)
  return ofMajor < major || (ofMajor === major && ofMinor < minor)
}

/** True if the server may evict keys. */
export function evicts(info: ReadonlyMap<string, string>): boolean {
  return Number(info.get('maxmemory') ?? 0) > 0 && info.get('maxmemory_policy') !== 'noeviction'
}
