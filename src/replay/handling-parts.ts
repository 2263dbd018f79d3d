import type { Limit } from '../consumer/limit.ts'
import type { Key } from '../core/record.ts'
import type { ReplayRules, ReplayStep } from '../core/replay.ts'
import type { Clock } from '../ports/clock.ts'
import type { JournalEntry } from './journal.ts'
import type { Looked } from './look.ts'
import type { Pace } from './pace.ts'
import type { ReplayedConsumer } from './place.ts'
import type { ReplayPlan } from './plan.ts'
import type { Recorder, Ticket } from './recorder.ts'
import type { Resumed } from './resumed.ts'
import type { RunOptions, RunProgress } from './run-options.ts'

export interface HandlingParts {
  readonly of: ReplayedConsumer
  readonly plan: ReplayPlan
  readonly rules: ReplayRules
  readonly options: RunOptions
  readonly clock: Clock
  readonly pace: Pace
  /** How fast its messages begin, in place of the limit of the consumer. */
  readonly limit: Limit | undefined
  readonly recorder: Recorder
  readonly resumed: Resumed
  /** Records that this run has forgotten: a second message with the same ID happens again no second time. */
  readonly forgotten: Set<Key>
  /** Nothing more begins. */
  readonly stop: AbortSignal
  readonly pause: (because: string) => void
  readonly refuse: (error: Error) => void
  readonly tell: (progress: RunProgress) => void
}

/** A message with what follows for it. */
export interface Todo extends Looked {
  readonly ticket: Ticket
  readonly step: ReplayStep
  readonly in: JournalEntry['bucket']
}
