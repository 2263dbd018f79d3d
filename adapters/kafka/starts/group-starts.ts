import { expectedAtJoin, type Expected, type Landmark } from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { Report } from '../report.ts'
import type { Committer, Floor } from '../commits/committer.ts'
import { NEVER_COMMITTED, type Committed, type GroupOffsets } from '../commits/group-offsets.ts'

interface GroupStartsParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly offsets: GroupOffsets
  readonly report: Report
  readonly seek: (epoch: PartitionEpoch, offset: bigint) => void
  /** Where a partition without a committed offset begins; `undefined`: at its first offset. */
  readonly startOf: (epoch: PartitionEpoch) => bigint | undefined
  /** Strategy `offsets`, for partitions without a stored position. */
  readonly hasStore: () => boolean
}

/**
 * Where an epoch begins: at the group's committed offset. That offset means nothing in another log. While nobody looked,
 * the log may have been cut off at an election and have grown again (an unclean election), or its topic may have been
 * created anew. So a commit names the last message below it, and an epoch begins with that message:
 *
 *   unproven ── same message, or none to compare ──> goes on at the committed offset
 *   unproven ── another message, or the log ends before it ──> the log is read whole (BatchGate)
 */
export class GroupStarts {
  readonly #parts: GroupStartsParts

  constructor(parts: GroupStartsParts) {
    this.#parts = parts
  }

  /** Sets where an epoch begins. Rejects while the broker does not tell the group's offsets. */
  async start(epoch: PartitionEpoch): Promise<Expected> {
    const { assignment, committer, offsets, report, startOf } = this.#parts
    const committed = await offsets.committed(assignment.joins, epoch.topic, epoch.partition)
    // What was committed since the join says nothing about a database that has no position: it may have lost it.
    const floor = this.#parts.hasStore() ? committer.floorAtJoin(epoch) : committer.floorOf(epoch)
    const start = committed?.offset === NEVER_COMMITTED && floor === undefined ? startOf(epoch) : undefined
    if (start !== undefined) return this.#startAt(epoch, start)
    const expected = expectedAtJoin(committed?.offset, floor?.offset) // mutant: kafka-floor-forgotten
    const proof = await this.#proofOf(epoch, expected, { committed, floor })
    if (expected.kind === 'beginning' && floor !== undefined) {
      committer.dropFloor(epoch)
      report('truncated', `${epoch.name}: expected ${floor.offset}, the group has nothing committed any more`)
    }
    if (expected.kind === 'offset' && expected.offset === committed?.offset) epoch.committed = expected.offset
    epoch.expected = expected
    if (proof !== undefined) epoch.proveBy(proof)
    epoch.isReset = committed?.offset === RESET_BY_KAFKAJS
    // The answer came from a replica whose log was still short, or the log is another one, which may have grown since.
    if (epoch.isReset) report('offset-reset', `${epoch.name}: the group had committed ${RESET_BY_KAFKAJS}`)
    return epoch.expected
  }

  /** `undefined`: no message below the offset is known, or the broker has deleted it by now. */
  async #proofOf(
    epoch: PartitionEpoch,
    expected: Expected,
    { committed, floor }: { readonly committed: Committed | undefined; readonly floor: Floor | undefined },
  ): Promise<Landmark | undefined> {
    if (expected.kind !== 'offset' || this.#parts.hasStore()) return undefined
    const told = committed?.offset === expected.offset ? committed.landmark : undefined // mutant: kafka-landmark-not-compared
    const landmark = told ?? floor?.landmark // mutant: kafka-log-not-compared
    if (landmark === undefined || landmark.offset >= expected.offset) return undefined
    // If a partition has no leader, the broker tells nothing of its whole topic. kafkajs then finds out by fetching.
    const bounds = await this.#parts.offsets.bounds(epoch.topic, epoch.partition).catch(() => undefined)
    return bounds !== undefined && landmark.offset < bounds.low ? undefined : landmark
  }

  /** The next tick commits it like any watermark. */
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
}

const RESET_BY_KAFKAJS = -2n
