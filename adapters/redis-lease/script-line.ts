import type { DurationMs, Key } from '../../src/index.ts'
import { answersWithin } from './answers-within.ts'
import { byShard, inOrder, inPlace } from './batches.ts'
import type { KeyNames } from './key-names.ts'
import type { Argument, RedisPort } from './redis-port.ts'
import { readReply, type ReadAnswer } from './replies.ts'
import { runScript } from './run-script.ts'
import type { Script } from './scripts/script.ts'

/** One batch for one script. */
export interface Batch<Item extends { readonly key: Key }, T> {
  readonly script: Script
  readonly items: readonly Item[]
  /** Arguments that stand before those of the items. */
  readonly shared: readonly Argument[]
  readonly addArguments: (words: Argument[], item: Item) => void
  readonly read: ReadAnswer<Item, T>
  /** @defaultValue that of the store */
  readonly withinMs?: DurationMs
}

/** Sends batches to Redis: one script for each part of a batch, side by side. */
export class ScriptLine {
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #timeoutMs: DurationMs

  constructor(redis: RedisPort, names: KeyNames, timeoutMs: DurationMs) {
    this.#redis = redis
    this.#names = names
    this.#timeoutMs = timeoutMs
  }

  /** Answers in the order of the items. */
  async run<Item extends { readonly key: Key }, T>(batch: Batch<Item, T>): Promise<readonly T[]> {
    const { script, items, shared, addArguments, read, withinMs = this.#timeoutMs } = batch
    const split = this.#redis.isCluster ? byShard(items, ({ key }) => this.#names.shardOf(key)) : inOrder(items)
    const asked = split.parts.map(async (part) => {
      const words: Argument[] = part.map(({ key }) => this.#names.of(key))
      words.push(...shared)
      for (const item of part) addArguments(words, item)
      return readReply(await runScript(this.#redis, script, part.length, words), part, read)
    })
    return inPlace(await answersWithin(withinMs, asked), split)
  }
}
