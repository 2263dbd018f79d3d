import type { Key } from '../../../src/internal.ts'

/** Names of records: `prefix:{shard}:key`. Only the shard is in braces, so an ID does not choose the slot. */
export class KeyNames {
  readonly #prefix: string
  readonly #shards: readonly string[]
  readonly #prefixes: readonly string[]

  constructor(prefix: string, shards: number) {
    this.#prefix = prefix
    this.#shards = Array.from({ length: shards }, (_, shard) => `{${String(shard).padStart(2, '0')}}`)
    this.#prefixes = this.#shards.map((shard) => `${prefix}:${shard}:`)
  }

  /** A stream of people's decisions: on a single server, or in one shard of a cluster. Imports do not push others out. */
  audit(kind: 'decisions' | 'imports', shard?: number): string {
    const name = `${this.#prefix}:audit${kind === 'imports' ? ':imports' : ''}`
    return shard === undefined ? name : `${name}:${this.#shards[shard]}`
  }

  /** The times of a scope: on a single server, or in one shard of a cluster. */
  since(scope: string, shard?: number): string {
    return `${this.#prefix}:since:${shard === undefined ? '' : `${this.#shards[shard]}:`}${scope}`
  }

  /** The IDs of the replays of a scope, in the slot of all of them. */
  replays(scope: string): string {
    return `${this.#prefix}:replays:{${withoutBraces(scope)}}`
  }

  replay(scope: string, id: string): string {
    return `${this.replays(scope)}:${id}`
  }

  of(key: Key): string {
    return `${this.#prefixes[this.shardOf(key)]}${key}`
  }

  shardOf(key: Key): number {
    return shardOf(key, this.#prefixes.length)
  }
}

/** The shard of a key, computed from its first characters, which are part of a hash. */
function shardOf(key: string, shards: number): number {
  let sum = 0
  for (let at = 0; at < 4 && at < key.length; at++) sum = sum * 31 + key.charCodeAt(at)
  return sum % shards
}

/** Injective. Redis takes what stands between braces as the slot. */
function withoutBraces(scope: string): string {
  return scope.replaceAll('%', '%25').replaceAll('{', '%7B').replaceAll('}', '%7D')
}
