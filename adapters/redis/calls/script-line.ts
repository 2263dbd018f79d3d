import type { DurationMs, Key } from '../../../src/internal.ts'
import { answersWithin } from './answers-within.ts'
import { byShard, inOrder, inPlace } from './batches.ts'
import type { Durability } from './durability.ts'
import { DurableLine } from './durable-line.ts'
import type { KeyNames } from '../records/key-names.ts'
import type { Argument, RedisPort } from '../clients/redis-port.ts'
import { readReply, type ReadAnswer } from './replies.ts'
import { runScript, type ScriptRun } from './run-script.ts'
import type { Script } from '../scripts/script.ts'

/** One batch for one script. */
export interface Batch<Item extends { readonly key: Key }, T> {
  readonly script: Script
  readonly items: readonly Item[]
  /**
   * Adds further keys of a part, after the keys of its items.
   * @defaultValue none
   */
  readonly addKeys?: (words: Argument[], part: readonly Item[]) => void
  /** Arguments for the items of one part. */
  readonly argumentsOf: (part: readonly Item[]) => readonly Argument[]
  readonly read: ReadAnswer<Item, T>
  /**
   * Its writes must be as durable as the store promises.
   * @defaultValue false
   */
  readonly durable?: boolean
  /** @defaultValue the timeout of the store */
  readonly withinMs?: DurationMs
}

/** Sends batches to Redis: one script call for each part of a batch, in parallel. */
export class ScriptLine {
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #timeoutMs: DurationMs
  readonly #durable: DurableLine | undefined

  constructor(redis: RedisPort, names: KeyNames, timeoutMs: DurationMs, durability: Durability) {
    this.#redis = redis
    this.#names = names
    this.#timeoutMs = timeoutMs
    if (durability.kind !== 'memory') this.#durable = new DurableLine(redis, durability, timeoutMs)
  }

  /** Resolves with the answers in the order of the items. */
  async run<Item extends { readonly key: Key }, T>(batch: Batch<Item, T>): Promise<readonly T[]> {
    const { items, read, durable = false, withinMs = this.#timeoutMs } = batch
    const split = this.#redis.isCluster ? byShard(items, ({ key }) => this.#names.shardOf(key)) : inOrder(items)
    const asked = split.parts.map(async (part) => {
      const run = this.#runOf(part, batch)
      const reply = await (durable && this.#durable
        ? this.#durable.run(this.#laneOf(part), run)
        : runScript(this.#redis, run))
      return readReply(reply, { items: part, letters: batch.script.letters, read })
    })
    return inPlace(await answersWithin(withinMs, asked, this.#redis), split)
  }

  /** Runs a script whose keys are in one slot. `durableIn`: its writes are durable when it resolves; the lane of the slot. */
  async runOne(run: ScriptRun, durableIn?: number): Promise<unknown> {
    const lane = this.#redis.isCluster ? durableIn : 0
    const asked =
      this.#durable === undefined || durableIn === undefined || lane === undefined
        ? runScript(this.#redis, run)
        : this.#durable.run(lane, run)
    const [reply] = await this.ask(asked.then((one) => [one]))
    return reply
  }

  /** Any other request to Redis, with the timeout of the store. */
  async ask<T>(asked: Promise<readonly T[]>): Promise<readonly T[]> {
    return answersWithin(this.#timeoutMs, [asked], this.#redis)
  }

  #runOf<Item extends { readonly key: Key }>(
    part: readonly Item[],
    { script, addKeys, argumentsOf }: Batch<Item, unknown>,
  ): ScriptRun {
    const words: Argument[] = []
    for (const { key } of part) words.push(this.#names.of(key))
    addKeys?.(words, part)
    const keys = words.length
    words.push(...argumentsOf(part))
    return { script, keys, words }
  }

  /** A single server is one lane; a cluster has one for each shard. */
  #laneOf([first]: readonly { readonly key: Key }[]): number {
    return this.#redis.isCluster && first !== undefined ? this.#names.shardOf(first.key) : 0
  }
}
