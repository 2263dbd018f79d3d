import { COPY_HEADER } from '../copies/vocabulary.ts'
import type { Key } from '../core/record.ts'
import { REDRIVE_OUTCOMES, redriveOutcome, type RedriveOutcome } from '../core/redrive.ts'
import type { Clock } from '../ports/clock.ts'
import type { ReplayItem, ReplayPublisher, ReplayRange } from '../ports/replay.ts'
import { setAsideBy, shownId } from './find/find.ts'
import { ForeseenLetters } from './foreseen.ts'
import { presentNames } from './former-places.ts'
import type { Hold } from './hold.ts'
import { Lookup, type Looked } from './look.ts'
import { Pace } from './pace.ts'
import type { ReplayedConsumer } from './place.ts'
import type { Horizon } from './plan.ts'
import { usableTime } from './proven.ts'
import { type CheckedRedrive, type RedriveResult, type RedrivenDeadLetter } from './redrive-options.ts'

/** What all places of one redrive share. */
export interface Redriving {
  readonly of: ReplayedConsumer
  readonly options: CheckedRedrive
  readonly clock: Clock
  readonly places: readonly string[]
  readonly id: string
  /** What a person confirmed. */
  readonly foreseen: ForeseenLetters | undefined
}

/** What sends the letters of one place back. */
export interface Sending {
  readonly publisher: ReplayPublisher
  readonly hold: Hold
}

/** Looks at dead letters, and sends back those that may run. */
export class DeadLetters {
  readonly #ctx: Redriving
  readonly #horizon: Horizon
  readonly #signal: AbortSignal
  readonly #lookup: Lookup
  readonly #pace: Pace
  readonly #allowed: ReadonlySet<string>
  /** Two letters of one message may differ: only the first is sent back. */
  readonly #seen = new Set<Key>()
  readonly #presentNames: ReadonlyMap<string, string>
  readonly #destinations = new Map<string, number>()
  readonly #refusedDestinations = new Map<string, number>()
  readonly #reasons = new Map<string, number>()
  readonly #reasonsThere = new Map<string, number>()
  readonly totals: Record<RedriveOutcome, number>
  readonly #foreseen: ForeseenLetters
  /** Keys of `options.foreseen` that were met in the place that is read. */
  readonly #met = new Set<Key>()
  #from = ''
  looked = 0

  constructor(ctx: Redriving, horizon: Horizon, signal: AbortSignal) {
    const { of, options, clock } = ctx
    const { since, until, ids, where, reasons, include, keys, allowDestinations, destination } = options
    this.#ctx = ctx
    this.#horizon = horizon
    this.#signal = signal
    this.#lookup = new Lookup(
      of,
      { since, until, ids, where, reasons, include },
      { keys, noted: ctx.foreseen?.replays },
    )
    this.#pace = new Pace(clock, options.rate, undefined)
    this.#foreseen = new ForeseenLetters(of.scope, ctx.id, this.#lookup.noted)
    this.#allowed = new Set([
      ...of.subscription.origins,
      ...allowDestinations,
      ...(destination === undefined ? [] : [destination]),
    ])
    this.#presentNames = presentNames(of.definition, of.subscription)
    this.totals = Object.fromEntries(REDRIVE_OUTCOMES.map((name) => [name, 0])) as Record<RedriveOutcome, number>
  }

  /** Of the place that is read from now on. */
  begin(from: string, range: ReplayRange, takes: boolean): void {
    this.#from = from
    this.#met.clear()
    this.#foreseen.open(from, range, takes)
  }

  /** Call it for all of a log first. */
  count(items: readonly ReplayItem[]): Promise<void> {
    return this.#lookup.note(items)
  }

  /** Every dead letter of this place that a person confirmed was looked at. */
  get isComplete(): boolean {
    const { foreseen } = this.#ctx
    return foreseen !== undefined && this.#met.size >= foreseen.count(this.#from)
  }

  /** Resolves when each of them is settled, or left; with none of them if it is stopped. */
  async take(items: readonly ReplayItem[], by: Sending | undefined): Promise<readonly RedrivenDeadLetter[]> {
    await by?.hold.extend()
    const looked = await this.#lookup.look(items, this.#ctx.clock.now())
    const deadLetters = looked.map((one) => this.#deadLetter(one))
    const going = looked.flatMap((one, at) => {
      const deadLetter = deadLetters[at]
      return deadLetter?.outcome === 'redriven' && deadLetter.destination !== undefined
        ? [{ ...one, destination: deadLetter.destination }]
        : []
    })
    if (by !== undefined && going.length > 0) {
      for (const _ of going) {
        await this.#pace.turn(this.#signal)
        await by.hold.extend()
      }
      if (this.#signal.aborted) return []
      const sent = await this.#send(going, by.publisher)
      for (const [at, one] of looked.entries()) {
        const deadLetter = deadLetters[at]
        if (deadLetter?.outcome === 'redriven' && !sent.has(one.item))
          deadLetters[at] = { ...deadLetter, outcome: 'busy' }
      }
    }
    for (const [at, deadLetter] of deadLetters.entries()) {
      this.#count(deadLetter)
      const item = items[at]
      if (deadLetter.outcome !== 'redriven' || deadLetter.key === undefined || item === undefined) continue
      this.#foreseen.add(this.#from, item, deadLetter.key)
    }
    // Those are not part of this redrive. A queue has them because its order may have changed since the preview.
    this.looked += deadLetters.filter(({ outcome }) => outcome !== 'unconfirmed').length
    return deadLetters
  }

  result(): Omit<RedriveResult, 'warnings' | 'stopped' | 'status' | 'because'> {
    const { id, places, options } = this.#ctx
    return {
      id,
      from: places,
      dryRun: options.dryRun,
      looked: this.looked,
      totals: this.totals,
      destinations: Object.fromEntries(this.#destinations),
      refusedDestinations: Object.fromEntries(this.#refusedDestinations),
      reasons: Object.fromEntries(this.#reasons),
      reasonsThere: Object.fromEntries(this.#reasonsThere),
      ids: this.#lookup.ids(),
      keysFound: this.#lookup.keysFound(),
      foreseen: this.#foreseen,
    }
  }

  #deadLetter(looked: Looked): RedrivenDeadLetter {
    const { part, position, deadLetter } = looked.item
    const destination = this.#destinationOf(deadLetter?.destination) ?? this.#ctx.options.destination
    const outcome = this.#outcomeOf(looked, destination)
    return {
      part,
      position,
      key: looked.key,
      id: shownId(this.#ctx.of, looked),
      outcome,
      reason: deadLetter?.reason,
      since: deadLetter?.since,
      setAsideBy: deadLetter && setAsideBy(deadLetter),
      destination,
    }
  }

  /** What came to a topic or a queue before its rename goes to the present one, unless a person names the former one. */
  #destinationOf(from: string | undefined): string | undefined {
    return from === undefined || this.#allowed.has(from) ? from : (this.#presentNames.get(from) ?? from)
  }

  #outcomeOf(looked: Looked, destination: string | undefined): RedriveOutcome {
    const { clock, options, foreseen } = this.#ctx
    const { key, item } = looked
    const isForeseen = foreseen?.has(this.#from, item, key) ?? true
    if (isForeseen && key !== undefined && foreseen !== undefined) this.#met.add(key)
    const now = clock.now()
    // A dead letter is younger than its message, so its own time, or that of its record, proves nothing more.
    const at = usableTime(item, now)
    const rules = { maxReplays: options.maxReplays }
    const bucket = looked.bucket(at !== undefined && at >= this.#horizon.at, rules)
    const outcome = redriveOutcome(bucket, options.unknown)
    if (outcome !== 'redriven') return outcome
    if (destination === undefined) return 'no-destination'
    if (!this.#allowed.has(destination)) return 'refused-destination'
    if (key === undefined || this.#seen.has(key)) return 'repeated'
    if (!isForeseen) return 'unconfirmed'
    this.#seen.add(key)
    return 'redriven'
  }

  /** Those whose record is open now, so that their messages will run. */
  async #send(
    going: readonly (Looked & { readonly destination: string })[],
    publisher: ReplayPublisher,
  ): Promise<ReadonlySet<ReplayItem>> {
    const { of, options, id } = this.#ctx
    const givenUp = going.filter(({ view }) => typeof view === 'object' && view.state === 'given-up')
    const why = {
      by: options.by ?? '',
      reason: `${id}: ${options.reason}`.slice(0, 1_000),
      retentionMs: of.definition.retentionMs,
    }
    const keys = givenUp.map(({ key }) => key ?? '')
    const verdicts = keys.length === 0 ? [] : await of.admin.reopen(of.scope, keys, why)
    const refusedOnes = new Set(givenUp.filter((_, at) => verdicts[at] === 'refused').map(({ item }) => item))
    const sent = going.filter(({ item }) => !refusedOnes.has(item))
    await publisher.publish(
      sent.map(({ destination, ...one }) => ({
        item: one.item,
        destination,
        headers: { [COPY_HEADER.replayId]: id, [COPY_HEADER.replayCount]: String(one.replays + 1) },
      })),
    )
    await Promise.all(sent.map(async ({ item }) => item.settle?.('done')))
    return new Set(sent.map(({ item }) => item))
  }

  #count({ outcome, destination, reason }: RedrivenDeadLetter): void {
    this.totals[outcome]++
    const why = reason ?? 'unknown'
    if (outcome !== 'unconfirmed') addOne(this.#reasonsThere, why)
    if (outcome === 'refused-destination') addOne(this.#refusedDestinations, destination ?? '')
    if (outcome !== 'redriven') return
    addOne(this.#destinations, destination ?? '')
    addOne(this.#reasons, why)
  }
}

function addOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
