import {
  decideBatch,
  decideControlBatch,
  describeError,
  type Expected,
  type Finding,
  type Landmark,
} from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { Committer } from '../commits/committer.ts'
import type { GroupOffsets } from '../commits/group-offsets.ts'
import { Findings } from './findings.ts'
import { GroupStarts } from './group-starts.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { Report } from '../report.ts'
import type { FetchedBatch, EndBatchProcess, RawMessage } from '../client.ts'
import type { StoredStarts } from './stored-starts.ts'

interface GateParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly offsets: GroupOffsets
  readonly report: Report
  readonly seek: (epoch: PartitionEpoch, offset: bigint) => void
  /** The log of a partition is another one, and so is its live epoch. */
  readonly renewed: (epoch: PartitionEpoch) => void
  /** Where a partition without a committed offset begins; `undefined`: at its first offset. */
  readonly startOf: (epoch: PartitionEpoch) => bigint | undefined
  /** Strategy `offsets` only. */
  readonly stored: () => StoredStarts | undefined
}

/** Admits only batches that continue where the last one ended, and makes kafkajs seek back if they do not. */
export class BatchGate {
  readonly #parts: GateParts
  readonly #groupStarts: GroupStarts
  readonly #findings: Findings
  #beginning: NodeJS.Timeout | undefined
  #joinedAt = -Infinity

  constructor(parts: GateParts) {
    this.#parts = parts
    this.#findings = new Findings(parts)
    this.#groupStarts = new GroupStarts({ ...parts, hasStore: () => parts.stored() !== undefined })
  }

  /**
   * Call it after every join. A partition without new messages brings no batch that shows that its log is another one.
   * There may be many joins in a row: of those only the last one asks the broker. A join after a quiet time asks at once,
   * while the client fetches the first batch, which waits for the answer.
   */
  joined(): void {
    clearTimeout(this.#beginning)
    const { assignment, offsets, stored } = this.#parts
    const now = performance.now()
    const isAfterQuiet = now - this.#joinedAt > QUIET_MS
    this.#joinedAt = now
    if (isAfterQuiet && stored() === undefined) offsets.read(assignment.joins).catch(() => {}) // The batch asks again.
    this.#beginning = setTimeout(() => {
      if (stored() !== undefined) return // They begin by themselves.
      for (const epoch of assignment.epochs) void this.begin(epoch)
    }, BEGIN_AFTER_MS).unref()
  }

  /**
   * Returns the epoch for the batch, or `undefined`: drop it unresolved. It is synchronous unless the broker must be
   * asked.
   */
  admit(epoch: PartitionEpoch, batch: FetchedBatch): PartitionEpoch | undefined | Promise<PartitionEpoch | undefined> {
    const { expected } = epoch
    const fits = expected?.kind === 'offset' && expected.offset.toString() === batch.fetchedOffset
    const isInQuestion = epoch.deciding !== undefined || epoch.proof !== undefined || epoch.heldBecause !== undefined
    if (fits && !isInQuestion && epoch.start === undefined) return epoch
    return this.#inTurn(epoch, () => this.#decide(epoch, batch))
  }

  /**
   * Decides where an epoch begins before its first batch arrives, if none has arrived yet: it may differ from kafkajs's
   * position. Never rejects.
   */
  async begin(epoch: PartitionEpoch): Promise<void> {
    const { assignment } = this.#parts
    if (epoch.expected !== undefined) return
    await this.#inTurn(epoch, async () => {
      if (epoch.expected !== undefined) return undefined
      const begin = await this.#expectedOf(epoch)
      const isHeld = epoch.heldBecause !== undefined && epoch.proof === undefined
      if (epoch.follows === undefined || begin.kind !== 'offset' || isHeld) return undefined
      if (!assignment.isLive(epoch)) return undefined
      epoch.sought = begin.offset
      this.#parts.seek(epoch, begin.offset)
      return undefined
    })
  }

  /**
   * Reads an epoch again from the group's committed offset. Never rejects; if the offset is unknown, the next batch
   * asks again.
   */
  async readAgain(epoch: PartitionEpoch): Promise<void> {
    await this.#inTurn(epoch, async () => {
      const begin = await this.#expectedOf(epoch)
      const from = begin.kind === 'offset' ? begin.offset : (await this.#boundsOf(epoch)).low
      if (this.#parts.assignment.isLive(epoch)) this.#parts.seek(epoch, from)
      return undefined
    })
  }

  /**
   * Called when fetching continues after a while. Meanwhile the topic may have been deleted, created anew and refilled
   * beyond the position, and then no fetch fails. So the last message received is fetched once more and compared.
   */
  lookBack(epoch: PartitionEpoch): void {
    if (epoch.deciding === undefined) return this.#lookBack(epoch)
    void this.#inTurn(epoch, async () => {
      this.#lookBack(epoch)
      return undefined
    })
  }

  #lookBack(epoch: PartitionEpoch): void {
    const { expected, last, proof, heldBecause, waiting } = epoch
    const landmark = last ?? this.#landmarkBefore(epoch)
    if (!this.#parts.assignment.isLive(epoch) || expected?.kind !== 'offset' || landmark === undefined) return
    // The waiting messages were fetched, and the last of them will be `last`. The partition is full until then, and
    // this is called again when it resumes.
    if (proof !== undefined || heldBecause !== undefined || waiting > 0) return
    epoch.sought = expected.offset
    if (last === undefined) epoch.proveBy(landmark)
    else {
      epoch.proof = last
      epoch.expected = { kind: 'offset', offset: last.offset }
    }
    this.#parts.seek(epoch, landmark.offset)
    this.#askIfNoneComes(epoch, landmark, 1)
  }

  /** A message from before this epoch. With stored positions, these have one of their own. */
  #landmarkBefore(epoch: PartitionEpoch): Landmark | undefined {
    const { committer, stored } = this.#parts
    return stored() === undefined ? (epoch.landmark ?? committer.floorOf(epoch)?.landmark) : undefined // mutant: kafka-log-not-compared 2
  }

  /**
   * No batch comes from a log that ends at or before the message to compare, or that has lost it and has nothing behind
   * it.
   */
  #askIfNoneComes(epoch: PartitionEpoch, proof: Landmark, looks: number): void {
    const timer = setTimeout(() => {
      if (epoch.proof !== proof || !this.#parts.assignment.isLive(epoch)) return
      void this.#inTurn(epoch, () => this.#compareEnds(epoch, proof, looks))
      if (looks < MOST_LOOKS) this.#askIfNoneComes(epoch, proof, looks + 1)
    }, LOOK_AFTER_MS)
    timer.unref()
  }

  async #compareEnds(epoch: PartitionEpoch, proof: Landmark, looks: number): Promise<undefined> {
    const { low, high } = await this.#boundsOf(epoch)
    const { follows } = epoch
    if (epoch.proof !== proof || follows === undefined || !this.#parts.assignment.isLive(epoch)) return
    if (high < follows) {
      if (looks === 1) return // A new leader may not know its full end yet.
      const finding: Finding = { what: 'truncated', from: follows, to: high }
      if (!this.#findings.isRefused(epoch, finding)) this.#goTo(this.#findings.acknowledge(epoch, finding, low), low)
    } else if (low > proof.offset || (looks === MOST_LOOKS && high === follows)) {
      // There is nothing left to compare. kafkajs may have committed -2 when it did not find the message.
      const next = epoch.proven() ?? follows
      epoch.advanceTo(next)
      epoch.committed = undefined
      this.#parts.seek(epoch, low > next ? low : next)
    }
  }

  /** Notes records that kafkajs skips on its own: transaction markers and aborted records. Never rejects. */
  async stepOver(epoch: PartitionEpoch, { firstOffset, lastOffset }: EndBatchProcess): Promise<void> {
    const last = BigInt(lastOffset)
    const first = (firstOffset as string | null) === null ? undefined : BigInt(firstOffset)
    await this.#inTurn(epoch, async () => {
      const begin = await this.#expectedOf(epoch)
      const expected = begin.kind === 'offset' ? begin.offset : (await this.#boundsOf(epoch)).low
      if (!this.#parts.assignment.isLive(epoch) || epoch.heldBecause !== undefined) return undefined
      // A message that was handled lay there, not a marker and nothing that was aborted.
      if (first !== undefined && first === epoch.proof?.offset && this.#parts.stored() === undefined) {
        await this.#readWhole(epoch)
        return undefined
      }
      const seenAgain = first !== undefined && first === epoch.suspect
      if (decideControlBatch({ first, last, expected, seenAgain }) === 'enter') {
        if (!this.#hasResumed(epoch)) epoch.advanceTo(last + 1n)
      } else {
        this.#goTo(epoch, expected)
        epoch.suspect = first
      }
      return undefined
    })
  }

  async #decide(epoch: PartitionEpoch, batch: FetchedBatch): Promise<PartitionEpoch | undefined> {
    const fetched = BigInt(batch.fetchedOffset ?? '')
    const expected = await this.#expectedOf(epoch)
    if (!this.#parts.assignment.isLive(epoch) || this.#isBeforeStart(epoch, fetched)) return undefined
    if (fetched === epoch.resumes && epoch.proof !== undefined) {
      this.#goTo(epoch, epoch.proof.offset) // Where the group is. First comes the message to compare.
      return undefined
    }
    let decision = decideBatch({ fetched, expected, bounds: undefined })
    let low: bigint | undefined
    if (decision.act === 'ask') {
      const bounds = await this.#boundsOf(epoch)
      const seen = BigInt(batch.highWatermark)
      low = bounds.low
      const high = seen > bounds.high ? seen : bounds.high
      decision = decideBatch({ fetched, expected: this.#reached(epoch, expected, high), bounds: { low, high } })
    }
    if (decision.act === 'ask' || !this.#parts.assignment.isLive(epoch)) return undefined

    if (decision.finding?.what === 'truncated' && this.#findings.isRefused(epoch, decision.finding)) return undefined
    if (decision.finding?.what === 'lost-by-retention' && this.#hasLostLandmark(epoch, decision.finding))
      return undefined
    if (decision.act === 'take' && !(await this.#isOfSameLog(epoch, batch))) return undefined
    const inEpoch =
      decision.finding === undefined ? epoch : this.#findings.acknowledge(epoch, decision.finding, fetched)
    // mutant: kafka-jump-taken
    if (decision.act === 'take') {
      if (decision.finding !== undefined) inEpoch.advanceTo(fetched)
      return inEpoch
    }
    const isOwn = this.#findings.isOwnSeek(epoch, decision.finding, fetched)
    const landmark = decision.finding.what === 'reset' && !isOwn ? this.#landmarkOf(epoch, low) : undefined
    this.#goTo(inEpoch, landmark ?? decision.to)
    return undefined
  }

  /** A log that ends right at the message to compare does not contain it. */
  #reached({ proof, follows }: PartitionEpoch, expected: Expected, high: bigint): Expected {
    const isShort = proof !== undefined && follows !== undefined && follows > high
    return isShort ? { kind: 'offset', offset: follows } : expected
  }

  /**
   * After kafkajs has restarted a partition, it is sent back to its position. A topic that was deleted, created anew
   * and filled meanwhile may have that offset too. So the last message received is fetched once more and compared.
   */
  #landmarkOf(epoch: PartitionEpoch, low: bigint | undefined): bigint | undefined {
    const { last, proof } = epoch
    if (proof !== undefined) return proof.offset
    const landmark = last ?? this.#landmarkBefore(epoch)
    if (landmark === undefined || low === undefined || landmark.offset < low) return undefined
    if (last === undefined) epoch.proveBy(landmark)
    else epoch.proof = last
    return landmark.offset
  }

  /**
   * Compares the message right before the position, if that is required and the message still exists. A partition in
   * doubt stays held.
   */
  async #isOfSameLog(epoch: PartitionEpoch, batch: FetchedBatch): Promise<boolean> {
    const stored = this.#parts.stored()
    const found = epoch.compare(messageAt(batch, epoch.proof?.offset))
    if (found === 'another') {
      if (stored === undefined) await this.#readWhole(epoch)
      else stored.anotherLog(epoch)
      return false
    }
    if (epoch.heldBecause !== undefined) {
      if (stored === undefined || found === 'unknown') stored?.unproven(epoch)
      else await stored.proven(epoch)
    }
    // The proof is kept until the batch is taken, because the batch may still be dropped and fetched again.
    return epoch.heldBecause === undefined
  }

  /** True if the batch was fetched only to compare a message of an earlier epoch: it goes on where it was about to. */
  #hasResumed(epoch: PartitionEpoch): boolean {
    const resumes = epoch.proven()
    if (resumes !== undefined && this.#parts.assignment.isLive(epoch)) this.#goTo(epoch, resumes)
    return resumes !== undefined
  }

  /** True if only the message to compare was lost: nothing where the epoch goes on. */
  #hasLostLandmark(epoch: PartitionEpoch, { to: low }: Finding): boolean {
    if (epoch.resumes === undefined || epoch.resumes < low) return false
    epoch.committed = undefined // kafkajs has committed -2 meanwhile.
    return this.#hasResumed(epoch)
  }

  /** The log is another one, of which nothing was received. */
  async #readWhole(epoch: PartitionEpoch): Promise<void> {
    const { low } = await this.#boundsOf(epoch)
    if (!this.#parts.assignment.isLive(epoch)) return
    this.#parts.report('truncated', `${epoch.name}: the message at ${epoch.proof?.offset} is another one now`)
    this.#goTo(this.#findings.renew(epoch), low)
  }

  /**
   * True until the start offset is committed. After that it drops batches that were already on the way from the
   * beginning; they are not a finding.
   */
  #isBeforeStart(epoch: PartitionEpoch, fetched: bigint): boolean {
    const { start } = epoch
    if (start === undefined) return false
    const isCommitted = epoch.committed !== undefined
    if (isCommitted) epoch.start = undefined
    if (isCommitted && fetched >= start) return false
    this.#goTo(epoch, start)
    return true
  }

  #goTo(epoch: PartitionEpoch, offset: bigint): void {
    epoch.expected = { kind: 'offset', offset }
    epoch.misfits++
    this.#parts.seek(epoch, offset)
  }

  async #expectedOf(epoch: PartitionEpoch): Promise<Expected> {
    if (epoch.expected !== undefined) return epoch.expected
    await this.#parts.stored()?.start(epoch)
    if (epoch.expected !== undefined) return epoch.expected
    const expected = await this.#groupStarts.start(epoch)
    if (epoch.isReset && epoch.proof !== undefined) this.#askIfNoneComes(epoch, epoch.proof, 1)
    return expected
  }

  #boundsOf(epoch: PartitionEpoch): ReturnType<GroupOffsets['bounds']> {
    return this.#parts.offsets.bounds(epoch.topic, epoch.partition)
  }

  /**
   * Makes one decision at a time for a partition. If the broker does not answer, the batch is dropped and comes again.
   */
  #inTurn(
    epoch: PartitionEpoch,
    decide: () => Promise<PartitionEpoch | undefined>,
  ): Promise<PartitionEpoch | undefined> {
    const before = epoch.deciding ?? Promise.resolve()
    const decision = before.then(decide).catch((error: unknown) => {
      epoch.misfits++
      this.#parts.report('offsets-unknown', `${epoch.name}: ${describeError(error)}`)
      return undefined
    })
    const deciding = decision.then((): void => {
      if (epoch.deciding === deciding) epoch.deciding = undefined
      return undefined
    })
    epoch.deciding = deciding
    return decision
  }
}

/** What a batch has at an offset, also if kafkajs does not hand it over: a marker, or an aborted message. */
function messageAt({ messages, rawMessages = messages }: FetchedBatch, at: bigint | undefined): RawMessage | undefined {
  const text = at?.toString()
  return text === undefined ? undefined : rawMessages.find(({ offset }) => offset === text)
}

/** A move of partitions can cause a hundred joins, a few milliseconds apart. */
const BEGIN_AFTER_MS = 250
/** Without a join for so long, the next one is the first of those that one move causes. */
const QUIET_MS = 1_000
/** The message to compare arrives at once if it exists. */
const LOOK_AFTER_MS = 2_000
const MOST_LOOKS = 5
