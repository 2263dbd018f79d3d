import type { Key } from '../../src/index.ts'
import { shardOf } from './batches.ts'

/** How records are named: `prefix:{shard}:key`. Only the shard stands in braces: nothing of an ID decides the slot. */
export class KeyNames {
  readonly #prefixes: readonly string[]

  constructor(prefix: string, shards: number) {
    this.#prefixes = Array.from({ length: shards }, (_, shard) => `${prefix}:{${String(shard).padStart(2, '0')}}:`)
  }

  of(key: Key): string {
    return `${this.#prefixes[this.shardOf(key)]}${key}`
  }

  shardOf(key: Key): number {
    return shardOf(key, this.#prefixes.length)
  }
}
