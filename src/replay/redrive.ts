import { hash } from 'node:crypto'
import type { Key } from '../core/record.ts'
import type { Bucket } from '../core/replay.ts'
import { systemClock } from '../clock.ts'
import { checkDecider, type Decider } from '../decider.ts'
import type { Consumer } from '../define-consumer.ts'
import { systemEntropy } from '../entropy.ts'
import { checkOneOf, checkText, checkWhole } from '../option-checks.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import { REPLAY_COUNT_HEADER, REPLAY_ID_HEADER, type ReplayItem, type ReplayPublisher } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { checkSelection, refuseProblems } from './check.ts'
import { takeHold, type Hold } from './hold.ts'
import { startJob, type Job } from './job.ts'
import { Lookup, type Looked } from './look.ts'
import { Pace } from './pace.ts'
import { ReplayedConsumer } from './place.ts'
import type { Horizon, Selection } from './plan.ts'
import { usableTime } from './proven.ts'

export interface RedriveOptions extends Selection, Partial<Decider> {
  /** Looks, and changes nothing. @defaultValue true */
  readonly dryRun?: boolean | undefined
  /** `kafka:topic` or `rabbitmq:queue` with the dead letters. @defaultValue the dead-letter place of the consumer */
  readonly from?: string | undefined
  /** Where a dead letter goes whose headers do not tell where it came from. @defaultValue none: it is left */
  readonly destination?: string | undefined
  /** Destinations beside the topics or the queue of the consumer. @defaultValue none */
  readonly allowDestinations?: readonly string[] | undefined
  /** Messages without a record that may have been handled before. @defaultValue 'leave' */
  readonly unknown?: 'handle' | 'leave' | undefined
  /** A message that was redriven as often as this is left. @defaultValue 2 */
  readonly maxReplays?: number | undefined
  /** The most dead letters to look at. */
  readonly max?: number | undefined
  /** Dead letters per second. @defaultValue as fast as the broker confirms them */
  readonly rate?: number | undefined
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
  /** @defaultValue the system source */
  readonly entropy?: Entropy | undefined
}

/**
 * What becomes of a dead letter. `redriven`: published where it came from, confirmed. `done`: its effect has happened, there is nothing to
 * do. `parked`: resolve it first. `busy`: somebody handles it now. `repeated`: another letter of the same message was redriven.
 * `no-destination`: its headers do not tell where it came from. `refused-destination`: that place is not allowed.
 */
export const REDRIVE_OUTCOMES = [
  'redriven',
  'done',
  'parked',
  'busy',
  'conflict',
  'no-id',
  'unreadable',
  'unknown',
  'looped',
  'repeated',
  'no-destination',
  'refused-destination',
  'filtered',
] as const

export type RedriveOutcome = (typeof REDRIVE_OUTCOMES)[number]

export interface RedrivenLetter {
  readonly part: string
  readonly position: string
  readonly key: Key | undefined
  readonly outcome: RedriveOutcome
  /** Why it was set aside. */
  readonly reason: string | undefined
  readonly destination: string | undefined
}

export interface RedriveResult {
  readonly id: string
  readonly from: string
  readonly dryRun: boolean
  /** Dead letters that lay there at the start, or `max`. */
  readonly looked: number
  readonly totals: Readonly<Record<RedriveOutcome, number>>
  /** Of those that are redriven: how many, by destination and by reason. */
  readonly destinations: Readonly<Record<string, number>>
  readonly reasons: Readonly<Record<string, number>>
  readonly warnings: readonly string[]
  /** True if it was stopped before it had seen all of them. */
  readonly stopped: boolean
}

/** The newest letters, as the job goes on. */
export interface RedriveProgress {
  readonly looked: number
  readonly of: number
  readonly totals: RedriveResult['totals']
  readonly letters: readonly RedrivenLetter[]
}

/** Letters that are reopened, published and settled together, at most those of a second. */
const AT_ONCE = 100

/**
 * Sends dead letters back to where they came from: reopens the record, publishes the message with the same ID, body and properties,
 * waits for the confirm, and only then settles the dead letter. A crash in between leaves two copies with one ID, and so one effect. It ends
 * with the dead letters that lay there when it began.
 *
 * @throws (the result rejects) ConfigError `CONFIG_INVALID`; ReplayError `REPLAY_REFUSED`: somebody else redrives this place
 * @throws (the result rejects) BrokerError, StoreError: what was published until then is settled
 */
export function redrive(
  consumer: Consumer,
  subscription: Subscription,
  options: RedriveOptions,
): Job<RedriveProgress, RedriveResult> {
  return startJob('the redrive', async (control) => {
    const of = new ReplayedConsumer(consumer, subscription)
    const { clock = systemClock, entropy = systemEntropy, dryRun = true } = options
    const from = checkedPlace(of, options, dryRun)
    const id = `redrive-${hash('sha256', from, 'hex').slice(0, 8)}`
    const ctx: Redriving = { of, options, clock, from, dryRun, id }
    await of.definition.store.open()
    const hold = dryRun
      ? undefined
      : await takeHold(of, { id, owner: entropy.ownerToken(), clock, state: () => stateOf(ctx) })
    const open: { close(): Promise<void> }[] = []
    try {
      const publisher = dryRun ? undefined : await subscription.replay?.publisher()
      if (publisher !== undefined) open.push(publisher)
      const reader = await of.open(from, [])
      open.push(reader)
      const range = await reader.range({ max: options.max })
      const size = range.parts.reduce((sum, part) => sum + Number(BigInt(part.to) - BigInt(part.from)), 0)
      const letters = new Letters(ctx, publisher, await of.horizon(clock.now()), control.signal)
      const atOnce = Math.min(AT_ONCE, Math.ceil(options.rate ?? AT_ONCE))
      for await (const batch of reader.read(range, { signal: control.signal })) {
        for (let at = 0; at < batch.length && !control.signal.aborted; at += atOnce) {
          const ended = await letters.take(batch.slice(at, at + atOnce), hold)
          control.tell({ looked: letters.looked, of: size, totals: { ...letters.totals }, letters: ended })
        }
        if (control.signal.aborted) break
      }
      return { ...letters.result(), warnings: range.warnings, stopped: control.signal.aborted }
    } finally {
      // The reader last: what was published must be settled before the rest goes back.
      for (const one of open.toReversed()) await one.close().catch(() => {})
      await hold?.release()
    }
  })
}

interface Redriving {
  readonly of: ReplayedConsumer
  readonly options: RedriveOptions
  readonly clock: Clock
  readonly from: string
  readonly dryRun: boolean
  readonly id: string
}

/** @throws ConfigError `CONFIG_INVALID` */
function checkedPlace({ subscription }: ReplayedConsumer, options: RedriveOptions, dryRun: boolean): string {
  const problems: string[] = []
  const { by = '', reason = '', max, maxReplays, rate, unknown = 'leave', from, allowDestinations = [] } = options
  if (!dryRun) checkDecider({ by, reason }, problems)
  checkSelection(options, problems)
  if (max !== undefined) checkWhole('max', max, problems)
  if (maxReplays !== undefined) checkWhole('maxReplays', maxReplays, problems)
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0))
    problems.push(`rate: expected letters per second, got ${rate}`)
  checkOneOf('unknown', unknown, ['handle', 'leave'], problems)
  for (const destination of allowDestinations) checkText('allowDestinations', destination, problems)
  const { replay } = subscription
  if (replay === undefined) {
    problems.push(
      'subscription: expected what kafkaSubscription() or rabbitSubscription() returned: a redrive publishes',
    )
  }
  const own = replay?.deadLetters === undefined ? undefined : `${replay.system}:${replay.deadLetters}`
  const place = from ?? own
  if (place === undefined)
    problems.push('from: expected the place of the dead letters: this consumer has none of its own')
  refuseProblems('redrive', problems)
  return place ?? ''
}

function stateOf({ from, options, id }: Redriving): string {
  return JSON.stringify({ schema_version: 1, kind: 'redrive', id, from, by: options.by, reason: options.reason })
}

/** Looks at dead letters, and sends back those that may run. */
class Letters {
  readonly #ctx: Redriving
  readonly #publisher: ReplayPublisher | undefined
  readonly #horizon: Horizon
  readonly #signal: AbortSignal
  readonly #lookup: Lookup
  readonly #pace: Pace
  readonly #allowed: ReadonlySet<string>
  /** Two letters of one message may differ: only the first is sent back. */
  readonly #seen = new Set<Key>()
  readonly #destinations = new Map<string, number>()
  readonly #reasons = new Map<string, number>()
  readonly totals: Record<RedriveOutcome, number>
  looked = 0

  constructor(ctx: Redriving, publisher: ReplayPublisher | undefined, horizon: Horizon, signal: AbortSignal) {
    const { of, options, clock } = ctx
    const { since, until, ids, where, reasons, allowDestinations = [], destination } = options
    this.#ctx = ctx
    this.#publisher = publisher
    this.#horizon = horizon
    this.#signal = signal
    this.#lookup = new Lookup(of, { since, until, ids, where, reasons })
    this.#pace = new Pace(clock, options.rate, undefined)
    this.#allowed = new Set([
      ...of.subscription.origins,
      ...allowDestinations,
      ...(destination === undefined ? [] : [destination]),
    ])
    this.totals = Object.fromEntries(REDRIVE_OUTCOMES.map((name) => [name, 0])) as Record<RedriveOutcome, number>
  }

  /** Resolves when each of them is settled, or left; with none of them if it is stopped. */
  async take(items: readonly ReplayItem[], hold: Hold | undefined): Promise<readonly RedrivenLetter[]> {
    await hold?.extend()
    const looked = await this.#lookup.look(items)
    const letters = looked.map((one) => this.#letter(one))
    const going = looked.flatMap((one, at) => {
      const letter = letters[at]
      return letter?.outcome === 'redriven' && letter.destination !== undefined
        ? [{ ...one, destination: letter.destination }]
        : []
    })
    if (this.#publisher !== undefined && going.length > 0) {
      for (const _ of going) {
        await this.#pace.turn(this.#signal)
        await hold?.extend()
      }
      if (this.#signal.aborted) return []
      const sent = await this.#send(going, this.#publisher)
      for (const [at, one] of looked.entries()) {
        const letter = letters[at]
        if (letter?.outcome === 'redriven' && !sent.has(one.item)) letters[at] = { ...letter, outcome: 'busy' }
      }
    }
    for (const letter of letters) this.#count(letter)
    this.looked += items.length
    return letters
  }

  result(): Omit<RedriveResult, 'warnings' | 'stopped'> {
    const { id, from, dryRun } = this.#ctx
    return {
      id,
      from,
      dryRun,
      looked: this.looked,
      totals: this.totals,
      destinations: Object.fromEntries(this.#destinations),
      reasons: Object.fromEntries(this.#reasons),
    }
  }

  #letter(looked: Looked): RedrivenLetter {
    const { part, position, deadLetter } = looked.item
    const destination = deadLetter?.destination ?? this.#ctx.options.destination
    const outcome = this.#outcomeOf(looked, destination)
    return { part, position, key: looked.key, outcome, reason: deadLetter?.reason, destination }
  }

  #outcomeOf(looked: Looked, destination: string | undefined): RedriveOutcome {
    const { clock, options } = this.#ctx
    const { key, item } = looked
    const now = clock.now()
    // A dead letter is younger than its message, so its own time, or that of its record, proves nothing more.
    const at = usableTime(item, now)
    const bucket = looked.bucket(at !== undefined && at >= this.#horizon.at, { maxReplays: options.maxReplays ?? 2 })
    const outcome = OUTCOME_OF[bucket]
    if (outcome !== 'redriven' && !(outcome === 'unknown' && options.unknown === 'handle')) return outcome
    if (destination === undefined) return 'no-destination'
    if (!this.#allowed.has(destination)) return 'refused-destination'
    if (key === undefined || this.#seen.has(key)) return 'repeated'
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
      sent.map(({ item, destination, replays }) => ({
        item,
        destination,
        headers: { [REPLAY_ID_HEADER]: id, [REPLAY_COUNT_HEADER]: String(replays + 1) },
      })),
    )
    await Promise.all(sent.map(async ({ item }) => item.settle?.('done')))
    return new Set(sent.map(({ item }) => item))
  }

  #count({ outcome, destination, reason }: RedrivenLetter): void {
    this.totals[outcome]++
    if (outcome !== 'redriven') return
    for (const [counts, name] of [
      [this.#destinations, destination ?? ''],
      [this.#reasons, reason ?? 'unknown'],
    ] as const) {
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
}

const OUTCOME_OF: Readonly<Record<Bucket, RedriveOutcome>> = {
  fresh: 'redriven',
  'given-up': 'redriven',
  done: 'done',
  processing: 'busy',
  'in-doubt': 'parked',
  parked: 'parked',
  conflict: 'conflict',
  'no-id': 'no-id',
  unreadable: 'unreadable',
  unknown: 'unknown',
  looped: 'looped',
  filtered: 'filtered',
}
