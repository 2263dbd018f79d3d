// What people decide: preview, then confirm; and the audit of it.

import type { EpochMs } from '../../src/core/units.ts'
import type { DecideVerdict, Key } from '../../src/core/record.ts'
import type { AuditEntry } from '../../src/ports/replay.ts'
import type { PersonsDecision } from '../../src/people/decisions.ts'
import type { RecordRow, RecordsQuery } from './records.ts'
import type { ApiError, ConsumerQuery } from './session.ts'

export interface AuditRow extends Omit<AuditEntry, 'record'> {}

export interface AuditQuery extends Partial<ConsumerQuery> {
  readonly key?: string
  /** Who did it. */
  readonly by?: string
  readonly decision?: string
  /** At this time or later. */
  readonly since?: EpochMs
  /** Before this time. */
  readonly until?: EpochMs
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
}

export interface AuditAnswer {
  /** The newest first. `consumer`: `ConsumerInfo.id`. */
  readonly entries: readonly (AuditRow & ConsumerQuery)[]
  readonly next: string | undefined
  /** The consumers whose store did not answer, if several were asked. */
  readonly failed: readonly (ConsumerQuery & { readonly error: ApiError['error'] })[]
}

export interface PauseRequest extends ConsumerQuery {
  /** For the audit, the log and the events of the consumer. No payload, no secret. */
  readonly reason: string
}

export interface PauseAnswer {
  /** How many runs of it were asked to. */
  readonly runs: number
  /** Why the audit does not have it; `undefined`: it has. */
  readonly unnoted: string | undefined
}

/** `done`: the effect happened. `rerun`, `reopen`: it runs at its next delivery. `forget`: it is done, and happens again. */
export type { PersonsDecision as DecisionKind } from '../../src/people/decisions.ts'

/** One of `keys` and `matching`. */
export interface PreviewRequest extends ConsumerQuery {
  readonly decision: PersonsDecision
  /** At most 1,000. */
  readonly keys?: readonly string[]
  /** All that match, at most 1,000 in one decision. */
  readonly matching?: Pick<RecordsQuery, 'state' | 'reason' | 'text' | 'before'>
}

export interface DecisionPreview {
  /** Good for 5 minutes, once, for exactly these records in the state in which they were shown. */
  readonly token: string
  readonly decision: PersonsDecision
  /** What happens to a message, in plain words. */
  readonly effect: string
  /** How many change: send it as `confirm`. */
  readonly changing: number
  readonly already: number
  readonly refused: number
  /** More than 1,000 matched: decide again after this. */
  readonly hasMore: boolean
  /** At most 50. */
  readonly rows: readonly (RecordRow & {
    readonly verdict: DecideVerdict | 'no-record'
    readonly consequence: string
  })[]
}

export interface ConfirmRequest extends ConsumerQuery {
  readonly token: string
  /** For the audit. No payload, no secret. */
  readonly reason: string
  /** `changing` of the preview. */
  readonly confirm: number
}

export interface DecisionAnswer {
  /** `refused`: the record has changed since the preview. */
  readonly decided: number
  readonly already: number
  readonly refused: number
  /** Keys that were refused, at most 50. */
  readonly refusedKeys: readonly Key[]
}
