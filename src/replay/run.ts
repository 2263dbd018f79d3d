import { REPLAY, watched } from '../pipeline/telemetry/channels.ts'
import { LIMIT, limitOf } from '../consumer/limit.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import { DECIDER } from '../people/decider.ts'
import { describeError } from '../foundation/errors.ts'
import { noteIn, replayAbout } from '../people/note.ts'
import {
  judged,
  millis,
  needed,
  oneOf,
  optionsOf,
  or,
  whole,
  type Complete,
  type Table,
} from '../foundation/options.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { MonotonicMs } from '../core/units.ts'
import type { SaveAnswer, TakeVerdict } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { countedText } from '../core/counted-text.ts'
import { JOURNAL, PLACES, RATE } from './check.ts'
import { Handling } from './handling.ts'
import { startJob, type Job, type JobControl } from './job.ts'
import { parseQuietHours, Pace, type QuietHours } from './pace.ts'
import { refused, ReplayedConsumer } from './place.ts'
import { digestOfPlan, PLAN_VERSION, type ReplayPlan } from './plan.ts'
import { HOLD_MS } from './hold.ts'
import { Recorder, type Written } from './recorder.ts'
import type { RunOptions, RunProgress, RunResult } from './run-options.ts'
import { timeText } from '../foundation/time-text.ts'
import { ASKED, moved, NO_TOTALS, type RunEvent, type RunState } from './run-state.ts'
import { Resumed } from './resumed.ts'

const PLAN_FOR_MS = 24 * 3_600_000
const LEASE_RATE = 20

/**
 * Handles what a plan allows, by the handler of the consumer and under its records, so that nothing happens twice: the plan is a
 * preview, the claim decides. The positions of the live consumers are not touched.
 *
 * It goes on where an earlier run of the plan ended, also one that was killed. `stop()` pauses it: running handlers end, and the
 * result tells how far it came.
 *
 * @throws (the result rejects) ReplayError `REPLAY_REFUSED`: the plan is older than 24 hours, was changed, belongs to another
 * consumer, is run by somebody else, is over, or has messages of which nobody can tell whether they were handled; a message has
 * become one of those since the plan; a message has another key than in the plan. What was handled until then is in the journal
 * @throws (the result rejects) ReplayError `REPLAY_RANGE_LOST`; ConfigError, BrokerError, StoreError
 */
export function runReplay(
  consumer: Consumer,
  subscription: Subscription,
  plan: ReplayPlan,
  asked: RunOptions,
): Job<RunProgress, RunResult> {
  return startJob(`replay ${plan?.id}`, async (control) => {
    const of = new ReplayedConsumer(consumer, subscription)
    const options = optionsOf('runReplay', RUN, asked)
    checkPlan(plan, of)
    await of.definition.store.open()
    return new Run(of, plan, options).run(control)
  })
}

type WithoutDefault = 'rate' | 'limit' | 'concurrency' | 'canary' | 'stopOnFailures' | 'quietHours' | 'unknown'

const RUN: Table<RunOptions, WithoutDefault> = {
  ...DECIDER,
  journal: needed(JOURNAL),
  rate: RATE,
  limit: LIMIT,
  concurrency: whole(),
  canary: whole(),
  stopOnFailures: whole(),
  quietHours: judged('hours such as 21:00-08:00', (hours) => {
    const parsed = parseQuietHours(String(hours))
    return typeof parsed === 'string' ? parsed : undefined
  }),
  unknown: oneOf('handle', 'skip'),
  places: or([], PLACES),
  deadlineMs: or(30_000, millis({ least: 0 })),
  clock: clockOption(),
  entropy: entropyOption(),
}

type Settings = Complete<RunOptions, WithoutDefault>

/** @throws ReplayError `REPLAY_REFUSED` */
function checkPlan(plan: ReplayPlan, of: ReplayedConsumer): void {
  // A plan comes from a file.
  const { kind, schema_version: version }: { readonly kind?: unknown; readonly schema_version?: unknown } =
    typeof plan === 'object' && plan !== null ? plan : {}
  if (kind !== 'consume-once replay plan') throw refused('expected a plan that planReplay() returned')
  if (version !== PLAN_VERSION) throw refused(`plan ${plan.id}: expected version ${PLAN_VERSION}: make a new plan`)
  if (digestOfPlan(plan) !== plan.digest) throw refused(`plan ${plan.id} was changed by hand: make a new plan`)
  const { consumer, scope, subscription } = of
  if (plan.consumer !== consumer.name || plan.scope !== scope || plan.group !== subscription.group) {
    throw refused(
      `plan ${plan.id} was made for consumer ${plan.consumer} of ${plan.scope}, not for ${consumer.name} of ${scope}: make a new plan`,
    )
  }
}

class Run {
  readonly #of: ReplayedConsumer
  readonly #plan: ReplayPlan
  readonly #options: Settings
  readonly #clock: Clock
  readonly #owner: string
  #heldSince: MonotonicMs = 0

  constructor(of: ReplayedConsumer, plan: ReplayPlan, options: Settings) {
    this.#of = of
    this.#plan = plan
    this.#options = options
    this.#clock = options.clock
    this.#owner = options.entropy.ownerToken()
  }

  run(control: JobControl<RunProgress>): Promise<RunResult> {
    const about = { consumer: this.#of.consumer.name, replay: this.#plan.id }
    return watched(
      REPLAY,
      () => about,
      () => this.#run(control),
    )
  }

  async #run(control: JobControl<RunProgress>): Promise<RunResult> {
    const { unknown } = this.#options
    const { id, buckets, rules } = this.#plan
    const isUnknownAllowed = (unknown ?? rules.unknown) !== 'refuse'
    if (buckets.unknown.count > 0 && !isUnknownAllowed) {
      throw refused(
        `plan ${id}: ${countedText(buckets.unknown.count, 'message has', 'messages have')} no record, and nothing proves that ${buckets.unknown.count === 1 ? 'it was' : 'they were'} not handled (${this.#plan.horizon.because}): say what happens with ${buckets.unknown.count === 1 ? 'it' : 'them'}, \`unknown: 'handle'\` or 'skip'`,
      )
    }
    const { state, isNew } = await this.#take()
    try {
      const { by, reason } = this.#options
      const note = { what: isNew ? 'start' : 'resume', about: replayAbout(id), by, reason }
      await noteIn(this.#of.definition.store.admin, this.#of.scope, note)
      return await this.#runFrom(state, control)
    } finally {
      await this.#of
        .ledger()
        .leave(this.#of.scope, id, this.#owner)
        .catch(() => {})
    }
  }

  async #take(): Promise<{ readonly state: RunState; readonly isNew: boolean }> {
    const { by, reason } = this.#options
    const fresh: RunState = {
      schema_version: 1,
      plan: this.#plan,
      status: 'running',
      by,
      reason,
      startedAt: this.#clock.now(),
      checkpoint: {},
      journal: { name: this.#options.journal.name, bytes: 0, totals: NO_TOTALS },
      totals: NO_TOTALS,
    }
    const { id, createdAt, digest } = this.#plan
    const known = await this.#of.ledger().read(this.#of.scope, id)
    const age = this.#clock.now() - createdAt
    if (known === undefined && age > PLAN_FOR_MS) {
      throw refused(`plan ${id} is ${Math.floor(age / 3_600_000)} hours old, and is good for 24: make a new plan`)
    }
    this.#heldSince = this.#clock.monotonic()
    const how = { owner: this.#owner, ttlMs: HOLD_MS, state: JSON.stringify(fresh) }
    const taken: TakeVerdict = await this.#of.ledger().take(this.#of.scope, id, how)
    if (taken.verdict === 'held') {
      throw refused(
        `replay ${id}: another process runs it; if that one has died, it can be resumed in ${Math.ceil(taken.leftMs / 1_000)} s`,
      )
    }
    const state = JSON.parse(taken.state) as RunState
    const begun = state.plan.digest === digest ? moved(state, { event: 'begin' }) : undefined
    const over = begun === undefined ? state : await this.#overBy(begun)
    if (begun !== undefined && over === undefined) return { state: begun, isNew: known === undefined }
    await this.#of.ledger().leave(this.#of.scope, id, this.#owner)
    throw refused(
      state.plan.digest === digest
        ? `replay ${id} is ${over?.status} since ${timeText(over?.endedAt ?? 0)}: make a new plan`
        : `plan ${id}: another plan with this ID was run: make a new plan`,
    )
  }

  /** An earlier process may have died before it saw that it was to abort. */
  async #overBy(begun: RunState): Promise<RunState | undefined> {
    const save = async (state: RunState): Promise<SaveAnswer> => {
      const how = { owner: this.#owner, ttlMs: HOLD_MS, state: JSON.stringify(state) }
      return this.#of.ledger().save(this.#of.scope, this.#plan.id, how)
    }
    const answer = await save(begun)
    if (!answer.held || answer.request !== 'abort') return undefined
    const over = moved(begun, { event: 'abort', because: ASKED, at: this.#clock.now() })
    if (over !== undefined) await save(over)
    return over
  }

  async #runFrom(state: RunState, control: JobControl<RunProgress>): Promise<RunResult> {
    const { journal, places } = this.#options
    const reader = await this.#of.open(this.#plan.from, places)
    let recorder: Recorder | undefined
    let handling: Handling | undefined
    try {
      const { resumed, bytes, ahead } = await this.#resumed(state, reader.takes)
      const stop = new AbortController()
      let move: RunEvent | undefined
      let failure: Error | undefined
      const end = (event: RunEvent | Error): void => {
        if (event instanceof Error) failure ??= event
        else move ??= event
        stop.abort()
      }
      const at = (): number => this.#clock.now()
      control.signal.addEventListener('abort', () => end({ event: 'pause', because: 'stopped', at: at() }))
      if (control.signal.aborted) end({ event: 'pause', because: 'stopped', at: at() })
      recorder = new Recorder({
        scope: this.#of.scope,
        owner: this.#owner,
        ledger: this.#of.ledger(),
        journal,
        clock: this.#clock,
        state: { ...state, totals: resumed.totals },
        heldSince: this.#heldSince,
        bytes,
        ahead,
        onRequest: (request) => end({ event: request, because: ASKED, at: at() }),
        onWritten: () => handling?.tell(),
        onLost: end,
      })
      const { store, limit: usual } = this.#of.definition
      const limit = limitOf(this.#options.limit) ?? usual
      const usualRate = store.strategy === 'lease' && limit === undefined ? LEASE_RATE : undefined
      const { rate = usualRate, quietHours } = this.#options
      const quiet = quietHours === undefined ? undefined : (parseQuietHours(quietHours) as QuietHours)
      handling = new Handling({
        of: this.#of,
        plan: this.#plan,
        rules: { ...this.#plan.rules, unknown: this.#options.unknown ?? this.#plan.rules.unknown },
        options: this.#options,
        clock: this.#clock,
        pace: new Pace(this.#clock, rate, quiet),
        limit,
        recorder,
        resumed,
        forgotten: new Set(),
        stop: stop.signal,
        pause: (because) => end({ event: 'pause', because, at: at() }),
        refuse: end,
        tell: (progress) => control.tell(progress),
      })
      try {
        await handling.go(reader)
      } catch (error) {
        if (!stop.signal.aborted) end(error instanceof Error ? error : new Error(describeError(error)))
      }
      await handling.stop(this.#options.deadlineMs)
      await recorder.flush()
      return await this.#close(recorder, move, failure)
    } finally {
      recorder?.abandon()
      await Promise.allSettled([reader.close(), journal.close()])
    }
  }

  /** All of the journal for a queue, whose positions mean nothing after a reading, and where records are forgotten by key. */
  async #resumed(
    { journal: { bytes: from, totals } }: RunState,
    isByKey: boolean,
  ): Promise<{ readonly resumed: Resumed; readonly bytes: number; readonly ahead: readonly Written[] }> {
    const { journal } = this.#options
    const { id: replay, rules } = this.#plan
    const opened = await journal.open(from)
    const isWhole = isByKey || rules.again
    const lines = isWhole ? [] : [...opened.lines]
    if (isWhole) for await (const line of journal.read()) lines.push(line)
    const before = isWhole ? NO_TOTALS : totals
    const resumed = new Resumed({ replay, name: journal.name, lines, isByKey, before })
    const isAhead = !isByKey && opened.lines.length > 0
    return {
      resumed,
      bytes: opened.bytes,
      ahead: isAhead ? [{ before: { bytes: from, totals }, upTo: resumed.upTo }] : [],
    }
  }

  async #close(recorder: Recorder, move: RunEvent | undefined, failure: Error | undefined): Promise<RunResult> {
    const at = this.#clock.now()
    const event: RunEvent =
      failure === undefined ? (move ?? { event: 'end', at }) : { event: 'pause', because: describeError(failure), at }
    const state = await recorder.close((before) => moved(before, event) ?? before)
    if (failure !== undefined) throw failure
    const { status, because, totals } = state
    if (status === 'running') throw new TypeError('a replay that ended is running (replay.close)')
    return { id: this.#plan.id, plan: this.#plan, status, because, totals }
  }
}
