import {
  decideBatch,
  decideControlBatch,
  describeError,
  expectedAtJoin,
  type Expected,
  type Finding,
} from '../../../src/index.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { Committer } from './committer.ts'
import { NEVER_COMMITTED } from './first-start.ts'
import type { GroupOffsets } from './group-offsets.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { KafkaEvent, Report } from '../report.ts'
import type { BatchLike, EndBatchProcess } from '../slice.ts'
import type { StoredStarts } from './stored-starts.ts'

interface GateParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly offsets: GroupOffsets
  readonly report: Report
  readonly seek: (epoch: PartitionEpoch, offset: bigint) => void
  /** The log of a partition is another one, and so is its live epoch. */
  readonly renewed: (epoch: PartitionEpoch) => void
  /** Where a partition begins in which the group has never committed; `undefined`: at the beginning. */
  readonly startOf: (epoch: PartitionEpoch) => bigint | undefined
  /** Strategy `offsets` only. */
  readonly stored: () => StoredStarts | undefined
}

/** Lets in only batches that go on where the last one ended, and sends kafkajs back where they do not. */
export class BatchGate {
  readonly #parts: GateParts

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** The epoch to take the batch in, or `undefined`: drop it unresolved. Answers at once unless the broker must be asked. */
  admit(epoch: PartitionEpoch, batch: BatchLike): PartitionEpoch | undefined | Promise<PartitionEpoch | undefined> {
    const { expected } = epoch
    const fits = expected?.kind === 'offset' && expected.offset.toString() === batch.fetchedOffset
    const isInQuestion = epoch.deciding !== undefined || epoch.proof !== undefined || epoch.heldBecause !== undefined
    if (fits && !isInQuestion && epoch.start === undefined) return epoch
    return this.#inTurn(epoch, () => this.#decide(epoch, batch))
  }

  /** Decides where an epoch begins before a batch asks, if that may be elsewhere than where kafkajs does. Never rejects. */
  async begin(epoch: PartitionEpoch): Promise<void> {
    const { assignment, startOf, stored } = this.#parts
    if (epoch.expected !== undefined || (startOf(epoch) === undefined && stored() === undefined)) return
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

  /** Reads an epoch again from what the group has committed. Never rejects; where that is not told, the next batch asks again. */
  async readAgain(epoch: PartitionEpoch): Promise<void> {
    await this.#inTurn(epoch, async () => {
      const begin = await this.#expectedOf(epoch)
      const from = begin.kind === 'offset' ? begin.offset : (await this.#boundsOf(epoch)).low
      if (this.#parts.assignment.isLive(epoch)) this.#parts.seek(epoch, from)
      return undefined
    })
  }

  /**
   * Strategy `offsets`: fetching goes on after a while in which nobody looked at the log. It may have been created anew and have
   * grown beyond the position, and then no fetch fails: so the last message that was received is fetched once more, and compared.
   */
  lookBack(epoch: PartitionEpoch): void {
    if (this.#parts.stored() === undefined) return
    if (epoch.deciding === undefined) return this.#lookBack(epoch)
    void this.#inTurn(epoch, async () => {
      this.#lookBack(epoch)
      return undefined
    })
  }

  #lookBack(epoch: PartitionEpoch): void {
    const { expected, last, proof, heldBecause, waiting } = epoch
    if (!this.#parts.assignment.isLive(epoch) || expected?.kind !== 'offset' || last === undefined) return
    // What waits was fetched and will be `last` in its turn; its partition is full till then, and resumed after that.
    if (proof !== undefined || heldBecause !== undefined || waiting > 0) return
    epoch.proof = last
    epoch.sought = expected.offset
    epoch.expected = { kind: 'offset', offset: last.offset }
    this.#parts.seek(epoch, last.offset)
  }

  /** Takes note of records that kafkajs steps over by itself: transaction markers and what was aborted. Never rejects. */
  async stepOver(epoch: PartitionEpoch, { firstOffset, lastOffset }: EndBatchProcess): Promise<void> {
    const last = BigInt(lastOffset)
    const first = (firstOffset as string | null) === null ? undefined : BigInt(firstOffset)
    await this.#inTurn(epoch, async () => {
      const begin = await this.#expectedOf(epoch)
      const expected = begin.kind === 'offset' ? begin.offset : (await this.#boundsOf(epoch)).low
      if (!this.#parts.assignment.isLive(epoch) || epoch.heldBecause !== undefined) return undefined
      const seenAgain = first !== undefined && first === epoch.suspect
      if (decideControlBatch({ first, last, expected, seenAgain }) === 'enter') {
        epoch.advanceTo(last + 1n)
      } else {
        this.#goTo(epoch, expected)
        epoch.suspect = first
      }
      return undefined
    })
  }

  async #decide(epoch: PartitionEpoch, batch: BatchLike): Promise<PartitionEpoch | undefined> {
    const fetched = BigInt(batch.fetchedOffset ?? '')
    const expected = await this.#expectedOf(epoch)
    if (!this.#parts.assignment.isLive(epoch) || this.#isBeforeStart(epoch, fetched)) return undefined
    let decision = decideBatch({ fetched, expected, bounds: undefined })
    let low: bigint | undefined
    if (decision.act === 'ask') {
      const bounds = await this.#boundsOf(epoch)
      const seen = BigInt(batch.highWatermark)
      low = bounds.low
      decision = decideBatch({ fetched, expected, bounds: { low, high: seen > bounds.high ? seen : bounds.high } })
    }
    if (decision.act === 'ask' || !this.#parts.assignment.isLive(epoch)) return undefined

    if (decision.finding?.what === 'truncated' && this.#isRefused(epoch, decision.finding)) return undefined
    if (decision.act === 'take' && !(await this.#isOfSameLog(epoch, batch))) return undefined
    const inEpoch = decision.finding === undefined ? epoch : this.#acknowledge(epoch, decision.finding, fetched)
    if (decision.act === 'take') {
      if (decision.finding !== undefined) inEpoch.advanceTo(fetched)
      return inEpoch
    }
    const isOwn = this.#isOwnSeek(epoch, decision.finding, fetched)
    const landmark = decision.finding.what === 'reset' && !isOwn ? this.#landmarkOf(epoch, low) : undefined
    this.#goTo(inEpoch, landmark ?? decision.to)
    return undefined
  }

  /**
   * After kafkajs began a partition anew it is sent back to where it was. A topic that was deleted, created anew and filled
   * meanwhile reaches there too: so the last message that was received is fetched once more, and compared.
   */
  #landmarkOf(epoch: PartitionEpoch, low: bigint | undefined): bigint | undefined {
    const { last } = epoch
    if (last === undefined || low === undefined || last.offset < low) return undefined
    epoch.proof = last
    return last.offset
  }

  /** By the message right before the position, where that must be found and still is. What is in doubt stays as it is. */
  async #isOfSameLog(epoch: PartitionEpoch, batch: BatchLike): Promise<boolean> {
    const stored = this.#parts.stored()
    const found = epoch.compare(batch.messages[0])
    if (found === 'another') {
      if (stored === undefined) await this.#readWhole(epoch)
      else stored.anotherLog(epoch)
      return false
    }
    if (epoch.heldBecause !== undefined) {
      if (stored === undefined || found === 'unknown') stored?.unproven(epoch)
      else await stored.proven(epoch)
    }
    // The proof stays until the batch is taken: it may be dropped yet, and fetched again.
    return epoch.heldBecause === undefined
  }

  /** Its log is another one, of which nothing was received. */
  async #readWhole(epoch: PartitionEpoch): Promise<void> {
    const { low } = await this.#boundsOf(epoch)
    if (!this.#parts.assignment.isLive(epoch)) return
    this.#parts.report('truncated', `${epoch.name}: the message at ${epoch.proof?.offset} is another one now`)
    this.#goTo(this.#renew(epoch), low)
  }

  /** Until its start is committed; then what was under way from the beginning is dropped too, and is no finding. */
  #isBeforeStart(epoch: PartitionEpoch, fetched: bigint): boolean {
    const { start } = epoch
    if (start === undefined) return false
    const isCommitted = epoch.committed !== undefined
    if (isCommitted) epoch.start = undefined
    if (isCommitted && fetched >= start) return false
    this.#goTo(epoch, start)
    return true
  }

  /** A log that ends before what is stored of it is not read anew: its offsets tell other messages to be over. */
  #isRefused(epoch: PartitionEpoch, { to }: Finding): boolean {
    const stored = this.#parts.stored()
    if (stored === undefined || epoch.follows === undefined) return false
    epoch.misfits++
    stored.beyondEnd(epoch, epoch.follows, to)
    return true
  }

  /** Tells what was found. Returns the epoch that goes on: a new one where the log is another. */
  #acknowledge(epoch: PartitionEpoch, finding: Finding, fetched: bigint): PartitionEpoch {
    const from = laterOf(finding.from, epoch.follows)
    const isNothing = finding.what === 'lost-by-retention' && from >= finding.to
    if (!isNothing && !this.#isOwnSeek(epoch, finding, fetched)) {
      this.#parts.report(EVENTS[finding.what], `${epoch.name}: expected ${from}, got ${finding.to}`)
    }
    switch (finding.what) {
      case 'skipped':
        return epoch
      case 'lost-by-retention':
      case 'reset':
        // kafkajs has committed -2 meanwhile; the watermark must be committed again though it did not move.
        epoch.committed = undefined
        return epoch
      case 'truncated':
        return this.#renew(epoch)
    }
  }

  #renew(epoch: PartitionEpoch): PartitionEpoch {
    const { assignment, committer, renewed } = this.#parts
    committer.dropFloor(epoch)
    const other = assignment.renew(epoch)
    renewed(other)
    return other
  }

  /** Strategy `offsets`: on the way to the stored position, or come there once more. */
  #isOwnSeek(epoch: PartitionEpoch, { what }: Finding, fetched: bigint): boolean {
    if (what !== 'skipped' && what !== 'reset') return false
    return (
      this.#parts.stored() !== undefined && epoch.follows !== undefined && (epoch.isFresh || fetched === epoch.sought)
    )
  }

  #goTo(epoch: PartitionEpoch, offset: bigint): void {
    epoch.expected = { kind: 'offset', offset }
    epoch.misfits++
    this.#parts.seek(epoch, offset)
  }

  async #expectedOf(epoch: PartitionEpoch): Promise<Expected> {
    if (epoch.expected !== undefined) return epoch.expected
    const { assignment, committer, offsets, report, startOf } = this.#parts
    await this.#parts.stored()?.start(epoch)
    if (epoch.expected !== undefined) return epoch.expected
    const committed = await offsets.committed(assignment.joins, epoch.topic, epoch.partition)
    if (epoch.expected !== undefined) return epoch.expected
    const floor = committer.floorOf(epoch)
    const start = committed === NEVER_COMMITTED && floor === undefined ? startOf(epoch) : undefined
    if (start !== undefined) return this.#startAt(epoch, start)
    const expected = expectedAtJoin(committed, floor)
    if (expected.kind === 'beginning' && floor !== undefined) {
      committer.dropFloor(epoch)
      report('truncated', `${epoch.name}: expected ${floor}, the group has nothing committed any more`)
    }
    if (committed === RESET_BY_KAFKAJS) report('offset-reset', `${epoch.name}: the group had committed ${committed}`)
    if (expected.kind === 'offset' && expected.offset === committed) epoch.committed = committed
    epoch.expected = expected
    return expected
  }

  /** It is committed like any watermark, by the next tick. */
  #startAt(epoch: PartitionEpoch, start: bigint): Expected {
    const expected = { kind: 'offset', offset: start } as const
    epoch.start = start
    epoch.expected = expected
    const { assignment, report, seek } = this.#parts
    if (!assignment.isLive(epoch)) return expected
    seek(epoch, start)
    report('started-at-end', `${epoch.name}: ${start}`)
    return expected
  }

  #boundsOf(epoch: PartitionEpoch): ReturnType<GroupOffsets['bounds']> {
    return this.#parts.offsets.bounds(epoch.topic, epoch.partition)
  }

  /** One decision at a time for a partition. An unknown is no decision: the batch is dropped and comes again. */
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

function laterOf(from: bigint, follows: bigint | undefined): bigint {
  return follows !== undefined && follows > from ? follows : from
}

const RESET_BY_KAFKAJS = -2n

const EVENTS: Readonly<Record<Finding['what'], KafkaEvent>> = {
  skipped: 'offset-skipped',
  reset: 'offset-reset',
  'lost-by-retention': 'lost-by-retention',
  truncated: 'truncated',
}
