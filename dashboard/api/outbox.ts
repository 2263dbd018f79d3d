// What handlers have committed and no relay has published yet.

import type { Key } from '../../src/core/record.ts'
import type { DurationMs, EpochMs } from '../../src/core/units.ts'
import type { OutboxBacklog, OutboxRefused } from '../../src/ports/outbox.ts'
import type { ApiError, ConsumerQuery } from './session.ts'

export interface OutboxAnswer {
  readonly now: EpochMs
  /** By destination. */
  readonly backlog: readonly OutboxBacklog[]
  /** At most 100, the oldest first. */
  readonly refused: readonly RefusedRow[]
}

export interface RefusedRow extends OutboxRefused {
  /** Key of the message whose handler published it. `undefined`: it has an ID of its own. */
  readonly handled: Key | undefined
}

/** What waits in the outboxes of all consumers. The answer may be 5 s old. */
export interface OutboxesAnswer {
  readonly now: EpochMs
  /** One for each outbox: consumers may share one. */
  readonly outboxes: readonly {
    readonly consumers: readonly string[]
    readonly waiting: number
    readonly parked: number
    /** How long ago the oldest that waits was committed; 0 if none waits. */
    readonly oldestMs: DurationMs
    /** It did not answer: the numbers are 0. */
    readonly error: ApiError['error'] | undefined
  }[]
}

export interface OutboxRedriveRequest extends ConsumerQuery {
  /** Of `refused`, at most 100. */
  readonly ids: readonly string[]
  /** For the audit. No payload, no secret. */
  readonly reason: string
  /** How many there are. */
  readonly confirm: number
}

export interface OutboxRedriveAnswer {
  /** A relay tries them at its next look. */
  readonly redriven: number
  /** Were not refused any more. */
  readonly left: number
  /** The audit has it. */
  readonly isNoted: boolean
}
