import type { Key } from '../../../src/spi.ts'
import { shardOf } from './batches.ts'

/** Names of records: `prefix:{shard}:key`. Only the shard is in braces, so an ID does not choose the slot. */
export class KeyNames {
  /** The stream of people's decisions. */
  readonly audit: string
  readonly #shards: readonly string[]
  readonly #prefixes: readonly string[]

  constructor(prefix: string, shards: number) {
    this.audit = `${prefix}:audit`
    this.#shards = Array.from({ length: shards }, (_, shard) => `{${String(shard).padStart(2, '0')}}`)
    this.#prefixes = this.#shards.map((shard) => `${prefix}:${shard}:`)
  }

  /** The audit stream in the slot of the key. */
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
