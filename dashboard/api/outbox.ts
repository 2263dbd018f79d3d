// What handlers have committed and no relay has published yet.

import type { EpochMs } from '../../src/core/units.ts'
import type { OutboxBacklog, OutboxRefused } from '../../src/ports/outbox.ts'
import type { ConsumerQuery } from './session.ts'

export interface OutboxAnswer {
  readonly now: EpochMs
  /** By destination. */
  readonly backlog: readonly OutboxBacklog[]
  /** At most 100, the oldest first. */
  readonly refused: readonly OutboxRefused[]
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
