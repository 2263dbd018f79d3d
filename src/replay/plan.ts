import { hash } from 'node:crypto'
import type { Bucket, Lack, ReplayRules } from '../core/replay.ts'
import type { EpochMs } from '../core/units.ts'
import type { ReplayPart } from '../ports/replay.ts'
import type { ArrivalStep } from './arrivals.ts'
import type { Histogram } from './histogram.ts'
import type { Counts, Distinct } from './tally.ts'

export const PLAN_VERSION = 1

/** Which messages of the range are meant. What is left out does not limit. */
export interface Selection {
  /** Arrival at or after, and before this time. */
  readonly since?: EpochMs | undefined
  readonly until?: EpochMs | undefined
  /** IDs as text. */
  readonly ids?: readonly string[] | undefined
  /** Conditions on fields, which all must hold: `$message.payload#/tenant=acme`. */
  readonly where?: readonly string[] | undefined
  /** Dead letters: only those with one of these reasons. */
  readonly reasons?: readonly string[] | undefined
  /**
   * Messages that do not have what is asked for: `undated` for `since` and `until`, `no-reason` for `reasons`, `no-field` for `where`.
   * @defaultValue none: they are left out and counted
   */
  readonly include?: readonly Lack[] | undefined
}

/** What became of the IDs of a selection. */
export interface IdsFound {
  readonly asked: number
  readonly found: number
  /** At most 100 of the others. */
  readonly notFound: readonly string[]
  /** Messages without a usable ID: nothing tells whether they are among them. */
  readonly withoutId: number
}

/** Why absence of a record proves something, and since when. */
export interface Horizon {
  /** A message that arrived before this time and has no record may have been handled. */
  readonly at: EpochMs
  readonly because: string
}

/** What a replay would do. A JSON object: keep it in a file, look at it, then run it. */
export interface ReplayPlan {
  readonly schema_version: typeof PLAN_VERSION
  readonly kind: 'consume-once replay plan'
  readonly id: string
  /** When its range was fixed. */
  readonly createdAt: EpochMs
  readonly consumer: string
  readonly group: string
  readonly scope: string
  /** `kafka:sms`, `rabbitmq:emails.dead-letter`, `file:sms.ndjson`. */
  readonly from: string
  readonly parts: readonly ReplayPart[]
  readonly selection: Selection
  readonly rules: ReplayRules
  readonly horizon: Horizon
  readonly buckets: Counts
  readonly histogram: Histogram<Bucket>
  readonly distinct: Distinct | undefined
  /** Messages in the range, with those that are filtered. */
  readonly total: number
  /** How many a run would handle. */
  readonly toHandle: number
  /** With `selection.ids`: how many of them are in the range. */
  readonly ids?: IdsFound | undefined
  readonly warnings: readonly string[]
  /** For each part, when its messages arrived, for a run that must judge them again. */
  readonly arrivals: Readonly<Record<string, readonly ArrivalStep[]>>
  /** The first message of each part with its key: a run with another ID source finds another one, and stops. */
  readonly first: Readonly<Record<string, { readonly position: string; readonly key: string | undefined }>>
  /** Digest of all fields above: a run refuses a plan that was changed. */
  readonly digest: string
}

/** The digest of a plan: SHA-256 of its JSON without the digest. */
export function digestOfPlan(plan: Omit<ReplayPlan, 'digest'>): string {
  const { digest: _, ...rest } = plan as ReplayPlan
  return hash('sha256', JSON.stringify(rest), 'hex')
}

/** The system and the place of `from`. `undefined`: it has no `:`. */
export function splitFrom(from: string): { readonly system: string; readonly place: string } | undefined {
  const at = from.indexOf(':')
  return at <= 0 ? undefined : { system: from.slice(0, at), place: from.slice(at + 1) }
}
