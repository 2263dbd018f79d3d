import { setTimeout as sleep } from 'node:timers/promises'
import {
  backoffMs,
  ConfigError,
  describeError,
  systemEntropy,
  type Backoff,
  type LogBounds,
  type StoredPosition,
  type StoredPositions,
} from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { Committer } from '../commits/committer.ts'
import type { Committed, GroupOffsets } from '../commits/group-offsets.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { Order } from '../options/options.ts'
import type { PartitionHolds } from '../membership/partition-holds.ts'
import type { KafkaEvent, Report } from '../report.ts'

interface StoredStartsParts {
  readonly stored: StoredPositions
  /** As given by the user. */
  readonly order: Order | undefined
  readonly assignment: Assignment
  readonly committer: Committer
  readonly offsets: GroupOffsets
  readonly holds: PartitionHolds
  readonly report: Report
  /** Seeks to the stored position of an epoch, if nothing of it was taken yet. Never rejects. */
  readonly begin: (epoch: PartitionEpoch) => Promise<void>
  /** Seeks to where the group began in this join. Never rejects. */
  readonly beginWhereJoined: (epoch: PartitionEpoch) => Promise<void>
  /** Reads a partition again from its stored position. */
  readonly readAgain: (epoch: PartitionEpoch) => void
}

const ASK_AGAIN: Backoff = { initialMs: 100, maxMs: 5_000 }
const LOOK_AGAIN: Backoff = { initialMs: 1_000, maxMs: 30_000 }
const FIRST_JOIN = 1
const NONE_COMMITTED = -1n

/** The stored positions, and the broker's bounds, of the partitions of one join. */
interface Starts {
  readonly positions: ReadonlyMap<string, StoredPosition>
  /**
   * Read after the positions: messages that are handled between the two reads move the end of the log before they move
   * the position.
   */
  readonly bounds: ReadonlyMap<string, LogBounds>
}

const NOTHING: Starts = { positions: new Map(), bounds: new Map() }

/**
 * Strategy `offsets`: the position of a partition is in the store, written in the transaction of the effects. The
 * group's committed offsets are only information. After every join the positions are read, once for all partitions, and
 * kafkajs seeks to them at once: a partition without new messages would deliver no batch that shows that its database
 * was restored.
 *
 * A position means nothing in another log, and kafkajs does not expose topic IDs. So each epoch begins with the message
 * right before the position, whose timestamp is stored. If that is another message, or the partition ends before the
 * position, the partition is held:
 *
 *   unproven ── same message, or none to compare ──> consumed
 *   unproven or consumed ── another message, or ends before the position ──> held, in the store
 *   held ── a person decides, or the same message is found ──> unproven
 */
export class StoredStarts {
  readonly #parts: StoredStartsParts
  readonly #closing = new AbortController()
  /** Held partitions that could not be proven since the last join. */
  readonly #unproven = new Set<string>()
  #asked: { readonly join: number; readonly starts: Promise<Starts> } | undefined
  #queue: Promise<void> = Promise.resolve()
  /** The group's committed offsets before the join, so before this process committed anything. */
  #before: ReadonlyMap<string, Committed> = new Map()
  /** The store has not answered yet, so the positions are unknown. */
  #isWaiting = false

  /** @throws ConfigError `CONFIG_INVALID` */
  constructor(parts: StoredStartsParts) {
    const { order } = parts
    if (order !== undefined && order !== 'partition') throw new ConfigError([PARTITION_ORDER])
    this.#parts = parts
  }

  /** Why nothing can be consumed; `undefined` if it can. */
  get problem(): string | undefined {
    if (this.#isWaiting) return 'waiting for the stored positions'
    const held = this.#parts.assignment.epochs.filter(({ heldBecause }) => heldBecause !== undefined)
    return held.length === 0
      ? undefined
      : held.map(({ name, heldBecause }) => `${name} is held: ${heldBecause}`).join('; ')
  }

  startFrom(committed: ReadonlyMap<string, Committed>): void {
    this.#before = committed
  }

  /**
   * Sets where an epoch begins, if it has a stored position. Rejects while the store does not answer; the next call
   * asks again.
   */
  async start(epoch: PartitionEpoch): Promise<void> {
    const { positions, bounds } = await this.#starts()
    const position = positions.get(epoch.name)
    if (position === undefined || epoch.expected !== undefined) return
    const { low = 0n, high } = bounds.get(epoch.name) ?? {}
    // An offset of the group beyond the end is no floor: below it nothing would ever be committed, and kafkajs has reset
    // it to -2.
    const { committer } = this.#parts
    if (high !== undefined && (committer.floorOf(epoch)?.offset ?? high) > high) committer.dropFloor(epoch) // mutant: kafka-floor-beyond-the-end
    const canBeProven = low < position.next && !this.#unproven.has(epoch.name)
    epoch.goOnFrom(canBeProven ? position : { ...position, timestamp: undefined })
    if (high !== undefined && high < position.next) this.beyondEnd(epoch, position.next, high)
    else if (position.held !== undefined && epoch.proof === undefined) this.#hold(epoch, 'position-held', position.held)
  }

  /** Call it after every join. There may be many joins in a row: only the last one is followed. */
  joined(): void {
    const { joins } = this.#parts.assignment
    this.#unproven.clear()
    this.#queue = this.#queue.then(() => this.#follow(joins))
  }

  /** Partitions have come without a join. */
  changed(): void {
    this.#asked = undefined
    this.joined()
  }

  /**
   * Starts a partition anew, from the position stored by now. If the store has none any more, everything that was
   * handled since the join may be lost with it, and is read again.
   */
  again(epoch: PartitionEpoch | undefined): void {
    const { assignment, beginWhereJoined } = this.#parts
    const { joins } = assignment
    this.#asked = undefined
    this.#isWaiting = true
    const begin = async (): Promise<void> => {
      const starts = await this.#begin(joins)
      if (epoch === undefined || starts === undefined || starts.positions.has(epoch.name)) return
      if (assignment.isLive(epoch)) await beginWhereJoined(epoch)
    }
    this.#queue = this.#queue.then(begin)
  }

  /** The partition ends before its stored position. */
  beyondEnd(epoch: PartitionEpoch, next: bigint, high: bigint): void {
    const why = `the stored position is ${next}, but the partition ends at ${high}: the topic was deleted and created anew, or its end was lost`
    this.#hold(epoch, 'position-beyond-end', why)
  }

  /** The message right before the position is another one. */
  anotherLog(epoch: PartitionEpoch): void {
    const at = epoch.proof?.offset
    this.#unproven.add(epoch.name)
    this.#hold(
      epoch,
      'position-of-another-log',
      `the message at ${at}, right before the position, is another one now: the topic was deleted and created anew, or its end was lost and written again`,
    )
  }

  /** The partition is held, and the message that could prove its log is not there. */
  unproven(epoch: PartitionEpoch): void {
    this.#unproven.add(epoch.name)
    this.#hold(epoch, 'position-held', epoch.heldBecause ?? '')
  }

  /**
   * The partition was held, but its log is the one for which the position was stored. Rejects while the store does not
   * answer.
   */
  async proven(epoch: PartitionEpoch): Promise<void> {
    const { follows, name } = epoch
    if (follows === undefined) return
    await this.#parts.stored.prove(name, follows)
    epoch.heldBecause = undefined
    this.#parts.report('position-proven', `${name}: the last message handled is still there, so the log is the same`)
  }

  close(): void {
    this.#closing.abort()
  }

  /** Idempotent. The hold is stored even if another member has the partition by then. */
  #hold(epoch: PartitionEpoch, event: KafkaEvent, why: string): void {
    const { assignment, holds, report } = this.#parts
    epoch.heldBecause = why
    epoch.proof = undefined
    if (epoch.holds.has('held') || !assignment.isLive(epoch)) return
    holds.hold(epoch, 'held')
    report(event, `${epoch.name}: ${why}. ${WHAT_TO_DO}`)
    void this.#keep(epoch, why)
  }

  /** Retries until the hold is stored, then watches until it has ended in the store or can be disproven. */
  async #keep(epoch: PartitionEpoch, why: string): Promise<void> {
    const { assignment, stored, readAgain } = this.#parts
    const { name } = epoch
    for (let looks = 1, isWritten = false; !this.#closing.signal.aborted; looks++) {
      try {
        let row = (await stored.next([name])).get(name)
        if (row !== undefined && row.held === undefined && !isWritten) {
          await stored.hold(name, row.next, why)
          row = (await stored.next([name])).get(name)
        }
        const isOver = row === undefined || (isWritten && row.held === undefined)
        isWritten ||= row?.held !== undefined
        if (!assignment.isLive(epoch) && (isWritten || isOver)) return
        if (isOver || (row?.held !== undefined && (await this.#canBeProven(epoch, row)))) return readAgain(epoch)
      } catch {
        // Try again. Nothing of the partition is taken meanwhile.
      }
      await this.#pause(backoffMs(looks, LOOK_AGAIN, systemEntropy.fraction()))
    }
  }

  async #canBeProven({ name, topic, partition }: PartitionEpoch, row: StoredPosition): Promise<boolean> {
    if (row.timestamp === undefined || this.#unproven.has(name)) return false
    const { low, high } = await this.#parts.offsets.bounds(topic, partition)
    return low < row.next && row.next <= high
  }

  #starts(): Promise<Starts> {
    const { assignment } = this.#parts
    const { joins: join } = assignment
    if (this.#asked?.join !== join) {
      const asked = { join, starts: this.#read(assignment.epochs) }
      this.#asked = asked
      asked.starts.catch(() => {
        if (this.#asked === asked) this.#asked = undefined
      })
    }
    return this.#asked.starts
  }

  /** Rejects if the store does not answer. If the broker does not, every batch is still compared. */
  async #read(epochs: readonly PartitionEpoch[]): Promise<Starts> {
    const names = epochs.map(({ name }) => name)
    const positions = names.length === 0 ? NOTHING.positions : await this.#parts.stored.next(names)
    const topics = new Set(epochs.filter(({ name }) => positions.has(name)).map(({ topic }) => topic))
    const bounds = new Map<string, LogBounds>()
    try {
      for (const topic of topics) {
        for (const [partition, ofOne] of await this.#parts.offsets.boundsOf(topic))
          bounds.set(`${topic}/${partition}`, ofOne)
      }
    } catch (error) {
      this.#parts.report('offsets-unknown', describeError(error))
    }
    this.#isWaiting = false
    return { positions, bounds }
  }

  async #follow(join: number): Promise<void> {
    const { assignment, offsets } = this.#parts
    if (!this.#isCurrent(join)) return
    // Request them before anything is committed in this epoch; wait for them only after kafkajs was sent on its way.
    for (const { topic, partition } of assignment.epochs) offsets.committed(join, topic, partition).catch(() => {})
    const starts = await this.#begin(join)
    if (starts !== undefined) await this.#compare(join, starts)
  }

  /** Resolves with the stored positions, or with `undefined` if another join came first. */
  async #begin(join: number): Promise<Starts | undefined> {
    const { assignment, begin, report } = this.#parts
    for (let failures = 1; this.#isCurrent(join); failures++) {
      try {
        const starts = await this.#starts()
        await Promise.all(assignment.epochs.map((epoch) => begin(epoch)))
        return starts
      } catch (error) {
        this.#isWaiting = true
        report('positions-unknown', describeError(error))
        await this.#pause(backoffMs(failures, ASK_AGAIN, systemEntropy.fraction()))
      }
    }
    return undefined
  }

  /** Compares the positions with the group's committed offsets. It changes nothing if the broker does not answer. */
  async #compare(join: number, { positions, bounds }: Starts): Promise<void> {
    const { assignment, offsets, report } = this.#parts
    try {
      for (const epoch of assignment.epochs) {
        const { name, topic, partition } = epoch
        const position = positions.get(name)?.next
        if (position === undefined) continue
        const before = join === FIRST_JOIN ? this.#before.get(name) : undefined
        const read = before ?? (await offsets.committed(join, topic, partition))
        const committed = read?.offset ?? NONE_COMMITTED
        if (!this.#isCurrent(join)) return
        const high = bounds.get(name)?.high
        if (high !== undefined && position <= high) epoch.isUnchecked = false
        if (committed === position || committed === epoch.committed) continue
        const had = committed === NONE_COMMITTED ? 'nothing' : committed
        report('position-sought', `${name}: stored ${position}, the group had committed ${had}`)
      }
    } catch (error) {
      if (this.#isCurrent(join)) report('offsets-unknown', describeError(error))
    }
  }

  #isCurrent(join: number): boolean {
    return this.#parts.assignment.joins === join && !this.#closing.signal.aborted
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => {})
  }
}

const PARTITION_ORDER =
  "order: expected 'partition' with a store of strategy offsets, whose position passes a message only when all before it are over; leave it out"

const WHAT_TO_DO =
  'Nothing of the partition is handled until a person says where it goes on: consume-once release-hold, or positionsOf(). The other partitions go on'
