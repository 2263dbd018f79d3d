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
  /** The live epoch of a partition is another one. */
  readonly renewed: () => void
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
    if (fits && epoch.deciding === undefined && epoch.start === undefined) return epoch
    return this.#inTurn(epoch, () => this.#decide(epoch, batch))
  }

  /** Decides where an epoch begins before a batch asks, if that may be elsewhere than where kafkajs does. Never rejects. */
  async begin(epoch: PartitionEpoch): Promise<void> {
    const { assignment, startOf, stored } = this.#parts
    if (epoch.expected !== undefined || (startOf(epoch) === undefined && stored() === undefined)) return
    await this.#inTurn(epoch, async () => {
      if (epoch.expected !== undefined) return undefined
      await this.#expectedOf(epoch)
      const { follows } = epoch
      if (follows === undefined || !assignment.isLive(epoch)) return undefined
      epoch.sought = follows
      this.#parts.seek(epoch, follows)
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

  /** Takes note of records that kafkajs steps over by itself: transaction markers and what was aborted. Never rejects. */
  async stepOver(epoch: PartitionEpoch, { firstOffset, lastOffset }: EndBatchProcess): Promise<void> {
    const last = BigInt(lastOffset)
    const first = (firstOffset as string | null) === null ? undefined : BigInt(firstOffset)
    await this.#inTurn(epoch, async () => {
      const begin = await this.#expectedOf(epoch)
      const expected = begin.kind === 'offset' ? begin.offset : (await this.#boundsOf(epoch)).low
      if (!this.#parts.assignment.isLive(epoch)) return undefined
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
    if (decision.act === 'ask') {
      const { low, high } = await this.#boundsOf(epoch)
      const seen = BigInt(batch.highWatermark)
      decision = decideBatch({ fetched, expected, bounds: { low, high: seen > high ? seen : high } })
    }
    if (decision.act === 'ask' || !this.#parts.assignment.isLive(epoch)) return undefined

    if (decision.finding?.what === 'truncated' && this.#isRefused(epoch, decision.finding)) return undefined
    const inEpoch = decision.finding === undefined ? epoch : this.#acknowledge(epoch, decision.finding, fetched)
    if (decision.act === 'take') {
      if (decision.finding !== undefined) inEpoch.advanceTo(fetched)
      return inEpoch
    }
    this.#goTo(inEpoch, decision.to)
    return undefined
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
  #isRefused(epoch: PartitionEpoch, { from, to }: Finding): boolean {
    const stored = this.#parts.stored()
    if (stored === undefined || epoch.follows === undefined) return false
    epoch.misfits++
    stored.beyondEnd(epoch, from, to)
    return true
  }

  /** Tells what was found. Returns the epoch that goes on: a new one where the log is another. */
  #acknowledge(epoch: PartitionEpoch, finding: Finding, fetched: bigint): PartitionEpoch {
    const { assignment, committer, report, renewed } = this.#parts
    if (!this.#isOwnSeek(epoch, finding, fetched)) {
      report(EVENTS[finding.what], `${epoch.name}: expected ${finding.from}, got ${finding.to}`)
    }
    switch (finding.what) {
      case 'skipped':
      case 'lost-by-retention':
        return epoch
      case 'reset':
        // kafkajs has committed -2 meanwhile; the watermark must be committed again though it did not move.
        epoch.committed = undefined
        return epoch
      case 'truncated': {
        committer.dropFloor(epoch)
        const other = assignment.renew(epoch)
        renewed()
        return other
      }
    }
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
    const stored = await this.#parts.stored()?.of(epoch)
    if (epoch.expected !== undefined) return epoch.expected
    if (stored !== undefined) {
      epoch.follows = stored
      epoch.isUnchecked = true
      epoch.expected = { kind: 'offset', offset: stored }
      return epoch.expected
    }
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

const RESET_BY_KAFKAJS = -2n

const EVENTS: Readonly<Record<Finding['what'], KafkaEvent>> = {
  skipped: 'offset-skipped',
  reset: 'offset-reset',
  'lost-by-retention': 'lost-by-retention',
  truncated: 'truncated',
}
