import type { Finding } from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { Committer } from '../commits/committer.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { KafkaEvent, Report } from '../report.ts'
import type { StoredStarts } from './stored-starts.ts'

interface FindingsParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly report: Report
  /** The log of a partition is another one, and so is its live epoch. */
  readonly renewed: (epoch: PartitionEpoch) => void
  /** Strategy `offsets` only. */
  readonly stored: () => StoredStarts | undefined
}

/** What follows from a batch that did not begin where it should have: for people, and for the epoch. */
export class Findings {
  readonly #parts: FindingsParts

  constructor(parts: FindingsParts) {
    this.#parts = parts
  }

  /** Reports the finding. Returns the epoch that continues, which is a new one if the log is another one. */
  acknowledge(epoch: PartitionEpoch, finding: Finding, fetched: bigint): PartitionEpoch {
    const from = epoch.resumes ?? laterOf(finding.from, epoch.follows)
    const isNothing = finding.what === 'lost-by-retention' && from >= finding.to
    if (!isNothing && !this.isOwnSeek(epoch, finding, fetched)) {
      this.#parts.report(EVENTS[finding.what], `${epoch.name}: expected ${from}, got ${finding.to}`)
    }
    switch (finding.what) {
      case 'skipped':
        return epoch
      case 'lost-by-retention':
        epoch.proven() // The message to compare is lost with them.
        epoch.committed = undefined
        return epoch
      case 'reset':
        // kafkajs has committed -2 meanwhile, so the watermark must be committed again even if it has not moved.
        epoch.committed = undefined
        return epoch
      case 'truncated':
        return this.renew(epoch)
    }
  }

  /** Returns the epoch of the other log. */
  renew(epoch: PartitionEpoch): PartitionEpoch {
    const { assignment, committer, renewed } = this.#parts
    committer.dropFloor(epoch)
    const other = assignment.renew(epoch)
    renewed(other)
    return other
  }

  /**
   * True if the partition is held now. A log that ends before its stored position is not read from the beginning: its
   * offsets would count other messages as over.
   */
  isRefused(epoch: PartitionEpoch, { to }: Finding): boolean {
    const stored = this.#parts.stored()
    if (stored === undefined || epoch.follows === undefined) return false
    epoch.misfits++
    stored.beyondEnd(epoch, epoch.follows, to)
    return true
  }

  /** On the way to or from a stored position or a message to compare. */
  isOwnSeek(epoch: PartitionEpoch, { what }: Finding, fetched: bigint): boolean {
    if ((what !== 'skipped' && what !== 'reset') || epoch.follows === undefined) return false
    if (fetched === epoch.sought) return true
    return epoch.isFresh && (epoch.resumes === undefined || epoch.isReset)
  }
}

function laterOf(from: bigint, follows: bigint | undefined): bigint {
  return follows !== undefined && follows > from ? follows : from
}

const EVENTS: Readonly<Record<Finding['what'], KafkaEvent>> = {
  skipped: 'offset-skipped',
  reset: 'offset-reset',
  'lost-by-retention': 'lost-by-retention',
  truncated: 'truncated',
}
