import { hash } from 'node:crypto'
import { BUCKETS, stepFor, type Bucket, type ReplayRules } from '../core/replay.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import {
  ELSEWHERE,
  judged,
  needed,
  object,
  optionsOf,
  or,
  readOptions,
  plainText,
  where,
  whole,
  type Complete,
  type Rule,
  type Table,
  nowCalled,
} from '../foundation/options.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { ReplayPlaces, ReplayReader } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { Arrivals } from './arrivals.ts'
import { PLACES, problemsOfSelection, RULES, SELECTION } from './check.ts'
import { parseField, type Field } from './expression.ts'
import { startJob, type Job, type JobControl } from './job.ts'
import { Lookup, type Looked } from './look.ts'
import { isDeadLetterPlace, ReplayedConsumer } from './place.ts'
import { usableTime } from './proven.ts'
import { digestOfPlan, PLAN_VERSION, type Horizon, type ReplayPlan, type Selection } from './plan.ts'
import { DistinctCounter, Tally, type Sample } from './tally.ts'

export interface PlanOptions extends Selection {
  /** `kafka:topic`, `kafka:topic@partition`, `rabbitmq:queue`, or a place of `places`. */
  readonly from: string
  /** Offsets or line numbers: from this one, and before this one, in each part. */
  readonly fromPosition?: bigint | undefined
  readonly toPosition?: bigint | undefined
  /** The most messages to look at. */
  readonly lookAtMost?: number | undefined
  /** @defaultValue nothing happens again: `unknown` refuses, given up and in doubt are left */
  readonly rules?: Partial<ReplayRules> | undefined
  /** A field whose different values are counted, such as `$message.payload#/to`. */
  readonly groupBy?: string | undefined
  /** Places beside the consumer's own broker: `[fileReplay()]`. @defaultValue none */
  readonly places?: readonly ReplayPlaces[] | undefined
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
  /** @defaultValue the system source */
  readonly entropy?: Entropy | undefined
}

export interface PlanProgress {
  readonly looked: number
  /** Positions of the range, which may be more than its messages. */
  readonly of: number
}

/** Messages that are looked up in one call of the store. */
const LOOKED_AT_ONCE = 250

type WithoutDefault = keyof Selection | 'fromPosition' | 'toPosition' | 'lookAtMost' | 'groupBy'

const POSITION: Rule<bigint> = where('a position as a bigint', (value) => typeof value === 'bigint')

const PLAN: Table<PlanOptions, WithoutDefault> = {
  ...SELECTION,
  from: needed(plainText()),
  fromPosition: POSITION,
  toPosition: POSITION,
  lookAtMost: whole(),
  rules: or({}, object(RULES)),
  groupBy: judged('a field such as $message.payload#/to', (field) => {
    const parsed = parseField(String(field))
    return typeof parsed === 'string' ? parsed : undefined
  }),
  places: or([], PLACES),
  clock: clockOption(),
  entropy: entropyOption(),
  [ELSEWHERE]: { max: nowCalled('lookAtMost') },
}

/**
 * Reads a range and tells what a replay of it would do. Changes nothing: records are read, not claimed. A queue gets its messages back, which
 * has a cost that the plan's `warnings` name.
 *
 * @throws (the result rejects) ConfigError `CONFIG_INVALID`; ReplayError `REPLAY_RANGE_LOST`; BrokerError, StoreError
 */
export function planReplay(
  consumer: Consumer,
  subscription: Subscription,
  asked: PlanOptions,
): Job<PlanProgress, ReplayPlan> {
  return startJob('the planning', async (control) => {
    const of = new ReplayedConsumer(consumer, subscription)
    const options = optionsOf('planReplay', PLAN, asked, (all, problems) => {
      problemsOfSelection(all, problems)
      const { fromPosition, toPosition } = all
      if (fromPosition === undefined || toPosition === undefined || fromPosition < toPosition) return
      problems.push(`toPosition: expected a position after fromPosition, ${fromPosition}, got ${toPosition}`)
    })
    await of.definition.store.open()
    const reader = await of.open(options.from, options.places)
    try {
      return await makePlan(of, reader, options, { given: asked.rules, control })
    } finally {
      await reader.close()
    }
  })
}

interface Asked {
  /** Those that were asked for. */
  readonly given: Partial<ReplayRules> | undefined
  readonly control: JobControl<PlanProgress>
}

async function makePlan(
  of: ReplayedConsumer,
  reader: ReplayReader,
  options: Complete<PlanOptions, WithoutDefault>,
  { given, control }: Asked,
): Promise<ReplayPlan> {
  const { from, since, until, ids, where: conditions, reasons, include, clock, entropy } = options
  const field = options.groupBy === undefined ? undefined : (parseField(options.groupBy) as Field)
  const createdAt = clock.now()
  const selection: Selection = { since, until, ids, where: conditions, reasons, include }
  // A dead-letter place has only what was given up: to replay it is to reopen.
  const isDeadLetters = isDeadLetterPlace(of.subscription.replay, from)
  const asked = readOptions(RULES, given, { name: '', problems: [] })
  const rules: ReplayRules = isDeadLetters && given?.givenUp === undefined ? { ...asked, givenUp: 'handle' } : asked
  const horizon = await of.horizon(createdAt)
  const { fromPosition, toPosition, lookAtMost: max } = options
  // A queue has no order of time: its messages are selected one by one.
  const times = reader.takes ? {} : { since, until }
  const range = await reader.range({ ...times, from: fromPosition, to: toPosition, max })
  const planning = new Planning({ horizon, rules, field, now: createdAt, isLog: !reader.takes })
  const size = range.parts.reduce((sum, part) => sum + Number(BigInt(part.to) - BigInt(part.from)), 0)
  const lookup = new Lookup(of, selection, { payloads: field !== undefined })
  if (isDeadLetters && !reader.takes) {
    for await (const batch of reader.read(range, { signal: control.signal })) await lookup.note(batch)
  }
  for await (const batch of reader.read(range, { signal: control.signal })) {
    for (let at = 0; at < batch.length; at += LOOKED_AT_ONCE) {
      const items = batch.slice(at, at + LOOKED_AT_ONCE)
      for (const looked of await lookup.look(items, clock.now())) planning.add(looked)
      control.tell({ looked: planning.total, of: size })
    }
    // A queue gets everything back when the reader is closed.
  }
  control.signal.throwIfAborted()
  const plan = {
    schema_version: PLAN_VERSION,
    kind: 'consume-once replay plan',
    id: hash('sha256', entropy.ownerToken(), 'hex').slice(0, 8),
    createdAt,
    consumer: of.consumer.name,
    group: of.subscription.group,
    scope: of.scope,
    from,
    parts: range.parts,
    selection,
    rules,
    horizon,
    ids: lookup.ids(),
    ...planning.found(range.warnings),
  } as const
  return { ...plan, digest: digestOfPlan(plan) }
}

/** What is known about one part while it is read. */
interface PartPlan {
  readonly arrivals: Arrivals
  /** Without a record, and fresh as long as no message behind them is older than the horizon. */
  fresh: Tally
  freshSoFar: number
}

interface PlanningWith {
  readonly horizon: Horizon
  readonly rules: ReplayRules
  readonly field: Field | undefined
  readonly now: EpochMs
  /** The order of positions is the order of arrival. */
  readonly isLog: boolean
}

class Planning {
  readonly #tally = new Tally()
  readonly #parts = new Map<string, PartPlan>()
  readonly #first: Record<string, { readonly position: string; readonly key: string | undefined }> = {}
  readonly #distinct: DistinctCounter | undefined
  /** Keys of those that may run: of several copies of a message one runs. */
  readonly #keys = new DistinctCounter()
  readonly #with: PlanningWith
  total = 0
  /** Messages that would run after one behind them that is done. */
  #overtaken = 0

  constructor(how: PlanningWith) {
    this.#with = how
    this.#distinct = how.field === undefined ? undefined : new DistinctCounter()
  }

  add(looked: Looked): void {
    const { item, key } = looked
    const { part, position } = item
    const { horizon, rules, field, now, isLog } = this.#with
    const timestamp = usableTime(item, now)
    const isNoted = isLog && item.timestampOf === 'producer' && timestamp !== undefined
    this.total++
    this.#first[part] ??= { position, key }
    const of = this.#part(part)
    const isOld = timestamp !== undefined && timestamp < horizon.at
    if (isNoted) {
      of.arrivals.note(BigInt(position), timestamp)
      if (isOld) this.#moveToUnknown(of)
    }
    const bucket = looked.bucket(timestamp !== undefined && !isOld, rules)
    const sample: Sample = { part, position, key, at: item.timestamp, detail: looked.detail }
    const isPending = isNoted && bucket === 'fresh' && looked.bucket(false, rules) === 'unknown'
    ;(isPending ? of.fresh : this.#tally).add(bucket, sample)
    if (bucket === 'fresh') of.freshSoFar++
    if (bucket === 'done') this.#overtaken = Math.max(this.#overtaken, of.freshSoFar)
    if (!mayRun(bucket, rules)) return
    this.#keys.add(key)
    if (field !== undefined) this.#distinct?.add(field.read(item.message, looked.payload))
  }

  found(
    warnings: readonly string[],
  ): Pick<ReplayPlan, 'buckets' | 'histogram' | 'distinct' | 'total' | 'toHandle' | 'warnings' | 'arrivals' | 'first'> {
    const { field, rules } = this.#with
    const arrivals: Record<string, ReturnType<Arrivals['toJSON']>> = {}
    for (const [name, part] of this.#parts) {
      this.#tally.merge(part.fresh)
      const steps = part.arrivals.toJSON()
      if (steps.length > 0) arrivals[name] = steps
    }
    const order =
      this.#overtaken === 0
        ? []
        : [
            'Messages that would run lie before messages that are done: an old message may run after a newer one of the same key.',
          ]
    const toHandle = BUCKETS.reduce((sum, name) => sum + (mayRun(name, rules) ? this.#tally.count(name) : 0), 0)
    const { count, isAtLeast } = this.#keys.toJSON('key')
    const copies =
      isAtLeast || count === 0 || count >= toHandle
        ? []
        : [
            `${toHandle - count} of the messages to handle are further copies of others: a run handles ${count}, and finds these done.`,
          ]
    return {
      ...this.#tally.toJSON(),
      distinct: field === undefined ? undefined : this.#distinct?.toJSON(field.text),
      total: this.total,
      toHandle,
      warnings: [...warnings, ...order, ...copies],
      arrivals,
      first: this.#first,
    }
  }

  /** A message behind them is older than the horizon, so they may have arrived before it. */
  #moveToUnknown(of: PartPlan): void {
    this.#tally.addAll(of.fresh, 'unknown')
    of.fresh = new Tally()
  }

  #part(name: string): PartPlan {
    const known = this.#parts.get(name)
    if (known !== undefined) return known
    const made: PartPlan = { arrivals: new Arrivals(), fresh: new Tally(), freshSoFar: 0 }
    this.#parts.set(name, made)
    return made
  }
}

const RUNNING_STEPS = new Set(['handle', 'forget', 'reopen', 'rerun'])

function mayRun(bucket: Bucket, rules: ReplayRules): boolean {
  return RUNNING_STEPS.has(stepFor(bucket, rules))
}

/** How long a replay takes, at a rate in messages per second. */
export function durationOf(plan: Pick<ReplayPlan, 'toHandle'>, rate: number): DurationMs {
  return Math.ceil(plan.toHandle / rate) * 1_000
}
