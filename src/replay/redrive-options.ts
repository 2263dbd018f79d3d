import type { RedriveOutcome } from '../core/redrive.ts'
import type { Complete } from '../foundation/options.ts'
import type { Key } from '../core/record.ts'
import type { EpochMs } from '../core/units.ts'
import type { Decider } from '../people/decider.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Foreseen } from './foreseen.ts'
import type { ReplayJournal } from './journal.ts'
import type { RunStatus } from './run-state.ts'
import type { IdsFound, Selection } from './plan.ts'

export interface RedriveOptions extends Selection, Partial<Decider> {
  /** Looks, and changes nothing. @defaultValue true */
  readonly dryRun?: boolean | undefined
  /** `kafka:topic` or `rabbitmq:queue` with the dead letters. @defaultValue all dead-letter places of the consumer, one after the other */
  readonly from?: string | undefined
  /** Where a dead letter goes whose headers do not tell where it came from. @defaultValue none: it is left */
  readonly destination?: string | undefined
  /** Only the dead letters of messages with these keys. @defaultValue all */
  readonly keys?: readonly Key[] | undefined
  /** Destinations beside the topics or the queue of the consumer. @defaultValue none */
  readonly allowDestinations?: readonly string[] | undefined
  /** Messages without a record that may have been handled before. `skip`: they stay there. @defaultValue `skip` */
  readonly unknown?: 'handle' | 'skip' | undefined
  /** A message that was redriven as often as this is left. @defaultValue 2 */
  readonly maxReplays?: number | undefined
  /**
   * `foreseen` of a dry run: no other dead letter is sent back, whatever lies there by then. `lookAtMost` does not count then.
   * @defaultValue all that lie there at the start
   */
  readonly foreseen?: Foreseen | undefined
  /** Gets a line for each dead letter that is looked at: `fileJournal(path)`. A dry run writes none. @defaultValue none */
  readonly journal?: ReplayJournal | undefined
  /** The most dead letters to look at, over all places. */
  readonly lookAtMost?: number | undefined
  /** Dead letters per second. @defaultValue as fast as the broker confirms them */
  readonly rate?: number | undefined
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
  /** @defaultValue the system source */
  readonly entropy?: Entropy | undefined
}

export type RedriveWithoutDefault =
  | keyof Selection
  | keyof Decider
  | 'from'
  | 'destination'
  | 'keys'
  | 'foreseen'
  | 'journal'
  | 'lookAtMost'
  | 'rate'

export type CheckedRedrive = Complete<RedriveOptions, RedriveWithoutDefault>

export interface RedrivenDeadLetter {
  readonly part: string
  readonly position: string
  readonly key: Key | undefined
  /** Only with `logIds` of the consumer. */
  readonly id: string | undefined
  readonly outcome: RedriveOutcome
  /** Why it was set aside. */
  readonly reason: string | undefined
  /** When it was set aside. */
  readonly since: EpochMs | undefined
  /** The consumer that set it aside, as far as its headers tell: `group/name`. */
  readonly setAsideBy: string | undefined
  readonly destination: string | undefined
}

export interface RedriveResult {
  /** Of a dry run: the ID of the redrive that is confirmed with its `foreseen`. */
  readonly id: string
  readonly status: Exclude<RunStatus, 'running'>
  /** Why it paused or was aborted. */
  readonly because: string | undefined
  /** The places, in the order in which they were read. */
  readonly from: readonly string[]
  readonly dryRun: boolean
  /** Dead letters that lay there at the start, or `lookAtMost`; with `foreseen` those of it that are still there. */
  readonly looked: number
  readonly totals: Readonly<Record<RedriveOutcome, number>>
  /** How many are redriven, by destination and by reason. */
  readonly destinations: Readonly<Record<string, number>>
  readonly reasons: Readonly<Record<string, number>>
  /** How many are left because of where they came from, by that: what `allowDestinations` may take. */
  readonly refusedDestinations: Readonly<Record<string, number>>
  /** How many dead letters were looked at, by reason, whatever was selected: the option `reasons` may select each of them. */
  readonly reasonsThere: Readonly<Record<string, number>>
  /** With `ids`: how many of them are there. */
  readonly ids?: IdsFound | undefined
  /** With `keys`: those of them that a dead letter has. */
  readonly keysFound?: readonly Key[] | undefined
  /** Those that are redriven, or would be: give it to the redrive that a person confirms. Not part of JSON. */
  readonly foreseen: Foreseen
  readonly warnings: readonly string[]
  /** True if it was stopped before it had seen all of them. */
  readonly stopped: boolean
}

/** The newest dead letters, as the job goes on. */
export interface RedriveProgress {
  readonly looked: number
  /** Dead letters of the places that were opened so far. */
  readonly of: number
  readonly totals: RedriveResult['totals']
  readonly deadLetters: readonly RedrivenDeadLetter[]
}
