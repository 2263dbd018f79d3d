import type { Key } from '../../src/index.ts'
import { shardOf } from './batches.ts'

/** How records are named: `prefix:{shard}:key`. Only the shard stands in braces: nothing of an ID decides the slot. */
export class KeyNames {
  /** The stream of what people have decided. */
  readonly audit: string
  readonly #shards: readonly string[]
  readonly #prefixes: readonly string[]

  constructor(prefix: string, shards: number) {
    this.audit = `${prefix}:audit`
    this.#shards = Array.from({ length: shards }, (_, shard) => `{${String(shard).padStart(2, '0')}}`)
    this.#prefixes = this.#shards.map((shard) => `${prefix}:${shard}:`)
  }

  /** A part of the audit, in the slot of the key. */
  auditInShardOf(key: Key): string {
    return `${this.audit}:${this.#shards[this.shardOf(key)]}`
  }

  of(key: Key): string {
    return `${this.#prefixes[this.shardOf(key)]}${key}`
  }

  shardOf(key: Key): number {
    return shardOf(key, this.#prefixes.length)
  }
}
