import type { DurationMs } from '../core/units.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Counts } from '../ports/observer.ts'
import type { Deadlines } from '../execution/deadlines.ts'
import type { Decoding } from './handling/decoding.ts'
import type { RunItem } from './handling/handler-run.ts'
import type { Ending } from './ending.ts'
import type { Hold } from './hold.ts'
import type { Lanes } from './intake/lanes.ts'
import type { Limiter } from './limit/limiter.ts'
import type { PutOffs } from './limit/put-offs.ts'
import type { Tell } from './telemetry/observe.ts'
import type { StoreClient } from './store/store-client.ts'
import type { Task } from './task.ts'
import type { Traces } from './handling/traces.ts'

/** What the parts of the pipeline share. */
export interface Services {
  readonly consumer: ResolvedConsumer
  readonly clock: Clock
  readonly entropy: Entropy
  readonly lanes: Lanes
  readonly hold: Hold
  /** `undefined`: the consumer has no `limit`. */
  readonly limiter: Limiter | undefined
  readonly putOffs: PutOffs
  readonly store: StoreClient
  readonly decoding: Decoding
  /** One timer for everything that a function of the user does. */
  readonly deadlines: Deadlines<RunItem>
  readonly isDraining: boolean
  /** A person has paused the consumer: nothing begins. */
  readonly isPaused: boolean
  readonly observe: Tell
  /** Somebody listens: events are made. */
  readonly isHeard: boolean
  /** Somebody wants events of what happens with every message. Otherwise `counts` is called, and none are made. */
  readonly isEachHeard: boolean
  readonly counts: Counts
  /** `undefined`: the consumer is not traced. */
  readonly traces: Traces | undefined
  /** Each task that was taken from the lanes ends here, once. */
  end(task: Task, ending: Ending): void
  /** `work` ends many tasks at once: their times are taken once. */
  endTogether<T>(work: () => T): T
  /** How long a message with this many failed attempts waits in a retry place; `undefined`: it waits in its lane. */
  retryDelayMs(attempts: number): DurationMs | undefined
  /** A message that waits for so long waits in a retry place, not in its lane. */
  waitsElsewhere(forMs: DurationMs): boolean
}
