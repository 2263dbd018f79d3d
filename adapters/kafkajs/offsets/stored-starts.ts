import { setTimeout as sleep } from 'node:timers/promises'
import {
  backoffMs,
  ConfigError,
  describeError,
  systemEntropy,
  type Backoff,
  type Intake,
  type LogBounds,
} from '../../../src/index.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { GroupOffsets } from './group-offsets.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { PartitionHolds } from '../intake/partition-holds.ts'
import { errorType } from '../protocol-error.ts'
import type { Report } from '../report.ts'

interface StoredStartsParts {
  readonly stored: NonNullable<Intake['storedPositions']>
  readonly assignment: Assignment
  readonly offsets: GroupOffsets
  readonly holds: PartitionHolds
  readonly report: Report
  /** Goes to the stored position of an epoch, if nothing of it was taken yet. Never rejects. */
  readonly begin: (epoch: PartitionEpoch) => Promise<void>
  /** Reads a partition again from what is stored. */
  readonly readAgain: (epoch: PartitionEpoch) => void
}

const ASK_AGAIN: Backoff = { initialMs: 100, maxMs: 5_000 }

/**
 * A partition that ends before its stored position may only look so for a moment: a leader that has just been elected does not
 * tell all of its end yet.
 */
const LOOKS = 5
const LOOK_AGAIN_MS = 500
const NOTHING_MORE = (): void => {}
const FIRST_JOIN = 1
const NONE_COMMITTED = -1n
const NOTHING: ReadonlyMap<string, bigint> = new Map()

const RECHECK: Backoff = { initialMs: 1_000, maxMs: 30_000 }

/**
 * Strategy `offsets`: where a partition begins is in the store, in the transaction of its effects, and whatever the group has
 * committed is information. After every join the positions are read, once for all partitions, and gone to at once: a
 * partition without new messages would bring no batch to find out by that its database was restored.
 */
export class StoredStarts {
  readonly #parts: StoredStartsParts
  readonly #closing = new AbortController()
  #asked: { readonly join: number; readonly positions: Promise<ReadonlyMap<string, bigint>> } | undefined
  #queue: Promise<void> = Promise.resolve()
  /** What the group had committed before it was joined, so before this process committed anything. */
  #before: ReadonlyMap<string, bigint> = new Map()
  /** The store does not answer, so nobody knows where to begin. */
  #isWaiting = false

  constructor(parts: StoredStartsParts) {
    this.#parts = parts
  }

  /** Why nothing can be consumed, if so. */
  get problem(): string | undefined {
    if (this.#isWaiting) return 'waiting for the stored positions'
    const beyond = this.#parts.assignment.epochs.filter(({ holds }) => holds.has('beyond-end'))
    return beyond.length === 0 ? undefined : `${beyond.map(({ name }) => name).join(', ')}: stored beyond the end`
  }

  /**
   * Before anything is consumed: a topic that was made again would be read as if its messages had been handled.
   *
   * @throws ConfigError `CONFIG_INVALID`
   */
  async check(topics: readonly string[]): Promise<void> {
    for (let looks = 1; ; looks++) {
      const problems = await this.#recreated(topics)
      if (problems.length === 0) return
      if (looks === LOOKS) throw new ConfigError(problems)
      await sleep(LOOK_AGAIN_MS)
    }
  }

  startFrom(committed: ReadonlyMap<string, bigint>): void {
    this.#before = committed
  }

  /** The stored position of a partition. Rejects while the store does not answer; whoever asks next makes it try again. */
  async of({ name }: PartitionEpoch): Promise<bigint | undefined> {
    return (await this.#positions()).get(name)
  }

  /** After every join. Joins come in storms: only the last of them is followed. */
  joined(): void {
    const { joins } = this.#parts.assignment
    this.#queue = this.#queue.then(() => this.#follow(joins))
  }

  /** Begins partitions anew, from what is stored by now. */
  again(): void {
    const { joins } = this.#parts.assignment
    this.#asked = undefined
    this.#queue = this.#queue.then(() => this.#begin(joins)).then(NOTHING_MORE)
  }

  /** Nothing of the partition is taken: it ends before what is stored of it. Looks again by itself, for ever. */
  beyondEnd(epoch: PartitionEpoch, stored: bigint, high: bigint): void {
    const { assignment, holds, report } = this.#parts
    if (epoch.holds.has('beyond-end') || !assignment.isLive(epoch)) return
    holds.hold(epoch, 'beyond-end')
    report('position-beyond-end', describeBeyond(epoch.name, stored, high))
    void this.#recheck(epoch)
  }

  close(): void {
    this.#closing.abort()
  }

  #positions(): Promise<ReadonlyMap<string, bigint>> {
    const { assignment } = this.#parts
    const { joins: join } = assignment
    if (this.#asked?.join !== join) {
      const names = assignment.epochs.map(({ name }) => name)
      const asked = { join, positions: this.#read(names) }
      this.#asked = asked
      asked.positions.catch(() => {
        if (this.#asked === asked) this.#asked = undefined
      })
    }
    return this.#asked.positions
  }

  async #read(names: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const positions = names.length === 0 ? NOTHING : await this.#parts.stored(names)
    this.#isWaiting = false
    return positions
  }

  async #follow(join: number): Promise<void> {
    const { assignment, offsets } = this.#parts
    if (!this.#isCurrent(join)) return
    // Asked before anything is committed in this epoch; waited for when kafkajs is on its way.
    for (const { topic, partition } of assignment.epochs) offsets.committed(join, topic, partition).catch(() => {})
    const positions = await this.#begin(join)
    if (positions !== undefined) await this.#compare(join, positions)
  }

  /** Resolves with the positions, or with `undefined` when another join came first. */
  async #begin(join: number): Promise<ReadonlyMap<string, bigint> | undefined> {
    const { assignment, begin, report } = this.#parts
    for (let failures = 1; this.#isCurrent(join); failures++) {
      try {
        const positions = await this.#positions()
        await Promise.all(assignment.epochs.map((epoch) => begin(epoch)))
        return positions
      } catch (error) {
        this.#isWaiting = true
        report('positions-unknown', describeError(error))
        await this.#pause(backoffMs(failures, ASK_AGAIN, systemEntropy.fraction()))
      }
    }
    return undefined
  }

  /** What the broker says beside it. Its silence changes nothing: every batch is compared with the position. */
  async #compare(join: number, positions: ReadonlyMap<string, bigint>): Promise<void> {
    const { assignment, offsets, report } = this.#parts
    const stored = assignment.epochs.filter(({ name }) => positions.has(name))
    try {
      const highs = await this.#highs([...new Set(stored.map(({ topic }) => topic))])
      for (const epoch of stored) {
        const { name, topic, partition } = epoch
        const position = positions.get(name) ?? 0n
        const before = join === FIRST_JOIN ? this.#before.get(name) : undefined
        const committed = before ?? (await offsets.committed(join, topic, partition)) ?? NONE_COMMITTED
        if (!this.#isCurrent(join)) return
        const high = highs.get(name)
        if (high !== undefined && position > high) this.beyondEnd(epoch, position, high)
        else if (high !== undefined) epoch.isUnchecked = false
        if (committed === position || committed === epoch.committed) continue
        const had = committed === NONE_COMMITTED ? 'nothing' : committed
        report('position-sought', `${name}: stored ${position}, the group had committed ${had}`)
      }
    } catch (error) {
      if (this.#isCurrent(join)) report('offsets-unknown', describeError(error))
    }
  }

  async #recheck(epoch: PartitionEpoch): Promise<void> {
    const { assignment, offsets, stored, readAgain } = this.#parts
    for (let looks = 1; ; looks++) {
      await this.#pause(backoffMs(looks, RECHECK, systemEntropy.fraction()))
      if (this.#closing.signal.aborted || !assignment.isLive(epoch)) return
      const isBeyond = await Promise.resolve()
        .then(() => stored([epoch.name]))
        .then(async (positions) => {
          const next = positions.get(epoch.name)
          return next !== undefined && next > (await offsets.bounds(epoch.topic, epoch.partition)).high
        })
        .catch(() => true)
      if (!isBeyond && assignment.isLive(epoch)) return readAgain(epoch)
    }
  }

  async #recreated(topics: readonly string[]): Promise<readonly string[]> {
    const names = [...(await this.#highs(topics)).keys()]
    // The positions first: what is handled between the two looks moves the end before it moves them.
    const positions = await this.#parts.stored(names)
    const highs = await this.#highs(topics)
    return [...positions].flatMap(([name, stored]) => {
      const high = highs.get(name)
      return high === undefined || stored <= high ? [] : [describeBeyond(name, stored, high)]
    })
  }

  async #highs(topics: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const highs = new Map<string, bigint>()
    for (const topic of topics) {
      const bounds = await this.#parts.offsets.boundsOf(topic).catch((error: unknown) => {
        // It may be made when it is subscribed to.
        if (errorType(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error
        return new Map<number, LogBounds>()
      })
      for (const [partition, { high }] of bounds) highs.set(`${topic}/${partition}`, high)
    }
    return highs
  }

  #isCurrent(join: number): boolean {
    return this.#parts.assignment.joins === join && !this.#closing.signal.aborted
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => {})
  }
}

function describeBeyond(name: string, stored: bigint, high: bigint): string {
  return (
    `${name}: the stored position is ${stored}, but the partition ends at ${high}: the topic was deleted and made again, or ` +
    `its end was lost. Give the consumer another scope, to handle the topic as a new one, or delete the row of the stream ` +
    `${name} from the table position, to begin where the group has committed, else at the beginning`
  )
}
