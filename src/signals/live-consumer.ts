import type { Pausable } from '../ports/lifecycle.ts'
import { describeError } from '../foundation/errors.ts'
import type { EpochMs } from '../core/units.ts'
import type { ObserverEvent, StoreOperation } from '../ports/observer.ts'
import type { Outcome } from '../ports/outcome.ts'
import { redactedError } from '../pipeline/telemetry/redact.ts'
import { withoutSecrets } from '../foundation/without-secrets.ts'
import { Histogram } from './histogram.ts'
import { entryOfDelivery, entryOfStep } from './live-entry.ts'
import type { LiveConsumer, LiveEntry, LiveEvent } from './live-snapshot.ts'
import { RecentMeasure, Steps } from './live-steps.ts'
import { Ring } from './ring.ts'

/** Runs of one consumer in one process that are remembered at the same time. */
const MOST_RUNS = 8

type Started = Extract<ObserverEvent, { readonly type: 'started' }>
type Delivered = Extract<ObserverEvent, { readonly type: 'delivery' }>

const MOST_USUAL = 2_000
const MOST_UNUSUAL = 3_000
const MOST_EVENTS = 100
const MOST_REASONS = 50
const MOST_RECENT = 50
/** The newest events that are not usual are kept apart: on a busy consumer the usual ones alone would fill the list. */
const MOST_RECENT_UNUSUAL = 20
const LONGEST_DETAIL = 1_024

const NO_OUTCOMES: Readonly<Record<Outcome, number>> = {
  handled: 0,
  skipped: 0,
  duplicate: 0,
  joined: 0,
  'handed-back': 0,
  failed: 0,
  'settle-refused': 0,
  'dead-lettered': 0,
  parked: 0,
  'lease-lost': 0,
}

/** A busy consumer has thousands of these in a second. They must not push out what a person looks for. */
const USUAL: ReadonlySet<Outcome> = new Set(['handled', 'skipped', 'duplicate', 'joined', 'handed-back'])

/** Many happen in one millisecond. */
interface Numbered {
  readonly number: number
  readonly entry: LiveEntry
}

/** What one consumer did lately. */
export class LiveConsumerState {
  readonly #name: string
  readonly #since: EpochMs
  readonly #outcomes: Record<Outcome, number> = { ...NO_OUTCOMES }
  readonly #counts = new Map<string, number>()
  readonly #reasons = new Map<string, number>()
  readonly #steps: Steps = new Steps()
  readonly #handler = new RecentMeasure()
  readonly #endToEnd = new RecentMeasure()
  readonly #store = new Map<StoreOperation, RecentMeasure>()
  readonly #duplicateAge = new Histogram()
  readonly #usual = new Ring<Numbered>(MOST_USUAL)
  readonly #unusual = new Ring<Numbered>(MOST_UNUSUAL)
  #entries = 0
  readonly #events = new Ring<LiveEvent>(MOST_EVENTS)
  #started: (Started & { readonly at: EpochMs }) | undefined
  /** Runs that go on beside the newest: a replay runs the consumer too, and its end is not that of the live one. */
  readonly #others: (Started & { readonly at: EpochMs })[] = []
  #stoppedAt: EpochMs | undefined
  #storeDown: { readonly at: EpochMs; readonly error: string } | undefined

  constructor(name: string, since: EpochMs) {
    this.#name = name
    this.#since = since
  }

  add(event: ObserverEvent, now: EpochMs): void {
    switch (event.type) {
      case 'delivery':
        return this.#delivered(event, now)
      case 'attempt-failed':
      case 'put-off':
      case 'in-doubt':
      case 'lease-lost':
      case 'stuck':
      case 'publish-failed':
      case 'beyond-retention':
        if (event.type === 'attempt-failed') this.#steps.at(now).attemptsFailed++
        this.#unusual.add({ number: this.#entries++, entry: entryOfStep(event, now) })
        return this.#count(event.type)
      case 'handler-run':
        this.#steps.at(now).handler.add(event.durationMs)
        return this.#handler.add(event.durationMs, now)
      case 'store-call':
        if (event.error !== undefined) this.#count('store-error')
        return this.#measureOf(event.operation).add(event.durationMs, now)
      case 'started':
        if (this.#started !== undefined && this.#stoppedAt === undefined) this.#others.push(this.#started)
        if (this.#others.length > MOST_RUNS) this.#others.shift()
        this.#started = { ...event, at: now }
        this.#stoppedAt = undefined
        return this.#tell({ at: now, event: 'started' })
      case 'stopped': {
        const other = this.#others.pop()
        if (other === undefined) {
          this.#stoppedAt = now
          this.#storeDown = undefined
        } else this.#started = other
        return this.#tell({ at: now, event: 'stopped' })
      }
      case 'store-down': {
        const error = textOf(event.error)
        this.#storeDown ??= { at: now, error }
        return this.#tell({ at: now, event: 'store-down', detail: error, isWarning: true })
      }
      case 'store-up':
        this.#storeDown = undefined
        return this.#tell({ at: now, event: 'store-up' })
      case 'decode-down':
        return this.#tell({
          at: now,
          event: 'decode-down',
          detail: cut(redactedError(event.error, event.message)),
          isWarning: true,
        })
      case 'decode-up':
        return this.#tell({ at: now, event: 'decode-up' })
      case 'limit-down':
        return this.#tell({ at: now, event: event.type, detail: textOf(event.error), isWarning: true })
      case 'limit-up':
        return this.#tell({ at: now, event: event.type })
      case 'stalled':
      case 'stall-over': {
        if (event.type === 'stalled') this.#count(event.type)
        const isWarning = event.type === 'stalled' ? { isWarning: true as const } : {}
        return this.#tell({ at: now, event: event.type, detail: event.place, ...isWarning })
      }
      case 'holding': {
        this.#count(event.type)
        const [last] = event.last.slice(-1)
        const detail = last === undefined ? {} : { detail: cut(`${last.reason}: ${last.detail}`) }
        return this.#tell({ at: now, event: event.type, ...detail, isWarning: true })
      }
      case 'hold-over':
        return this.#tell({ at: now, event: event.type, detail: event.because })
      case 'paused':
      case 'resumed': {
        const { by = 'a person', reason } = event
        const detail = reason === undefined ? by : `${by}: ${cut(withoutSecrets(reason))}`
        return this.#tell({ at: now, event: event.type, detail })
      }
      case 'purge-failed':
      case 'invariant-broken':
        this.#count(event.type)
        return this.#tell({ at: now, event: event.type, detail: textOf(event.error), isWarning: true })
      case 'source': {
        const { event: name, detail, isWarning } = event
        const told = detail === undefined ? {} : { detail: cut(withoutSecrets(detail)) }
        return this.#tell({ at: now, event: name, ...told, ...(isWarning && { isWarning }) })
      }
      case 'marks':
        return this.#count('marks-late', event.late)
      case 'observed':
        return this.#count(`observed-${event.verdict}`, event.count)
      case 'apart':
      case 'unprotected-run':
      case 'result-not-kept':
      case 'policy-threw':
        return this.#count(event.type)
      case 'claims':
      case 'settles':
      case 'purged':
    }
  }

  /** The runs that a person may pause. */
  get controls(): readonly Pausable[] {
    const started = this.#stoppedAt === undefined ? [this.#started, ...this.#others] : []
    return started.flatMap((one) => one?.control ?? [])
  }

  snapshot(now: EpochMs, key: string | undefined): LiveConsumer {
    const started = this.#started
    return {
      consumer: this.#name,
      group: started?.group,
      scope: started?.scope,
      retentionMs: started?.retentionMs,
      leaseMs: started?.leaseMs,
      startedAt: started?.at,
      stoppedAt: this.#stoppedAt,
      health: started?.health(),
      storeDownSince: this.#storeDown?.at,
      storeError: this.#storeDown?.error,
      outcomes: { ...this.#outcomes },
      counts: Object.fromEntries(this.#counts),
      reasons: Object.fromEntries(this.#reasons),
      series: this.#steps.toJSON(now, this.#since),
      handler: this.#handler.toJSON(now),
      endToEnd: this.#endToEnd.toJSON(now),
      store: Object.fromEntries([...this.#store].map(([name, measure]) => [name, measure.toJSON(now)])),
      duplicateAge: this.#duplicateAge.toJSON(),
      recent: this.#recent(key),
      events: [...this.#events.newestFirst()],
    }
  }

  #delivered(event: Delivered, now: EpochMs): void {
    const { outcome, reason, endToEndMs, since } = event
    this.#outcomes[outcome]++
    const step = this.#steps.at(now)
    step.outcomes.set(outcome, (step.outcomes.get(outcome) ?? 0) + 1)
    if (endToEndMs !== undefined) {
      step.endToEnd.add(endToEndMs)
      this.#endToEnd.add(endToEndMs, now)
    }
    if (outcome === 'duplicate' && since !== undefined) this.#duplicateAge.add(Math.max(0, now - since))
    if (reason !== undefined) this.#countReason(reason)
    const ring = USUAL.has(outcome) ? this.#usual : this.#unusual
    ring.add({ number: this.#entries++, entry: entryOfDelivery(event, now) })
  }

  #recent(key: string | undefined): readonly LiveEntry[] {
    if (key !== undefined) {
      const both = mergedNewestFirst(this.#usual.newestFirst(), this.#unusual.newestFirst())
      return [...both].filter((entry) => entry.key === key)
    }
    const unusual = first(MOST_RECENT, latestAttempts(this.#unusual.newestFirst()))
    const kept = first(MOST_RECENT - Math.min(unusual.length, MOST_RECENT_UNUSUAL), this.#usual.newestFirst())
    return [...mergedNewestFirst(kept, unusual.slice(0, MOST_RECENT - kept.length))]
  }

  #count(name: string, by = 1): void {
    if (by > 0) this.#counts.set(name, (this.#counts.get(name) ?? 0) + by)
  }

  #countReason(reason: string): void {
    const name = this.#reasons.has(reason) || this.#reasons.size < MOST_REASONS ? reason : 'other'
    this.#reasons.set(name, (this.#reasons.get(name) ?? 0) + 1)
  }

  #measureOf(operation: StoreOperation): RecentMeasure {
    const known = this.#store.get(operation)
    if (known !== undefined) return known
    const made = new RecentMeasure()
    this.#store.set(operation, made)
    return made
  }

  #tell(event: LiveEvent): void {
    this.#events.add(event)
  }
}

/** Keeps only the newest failed attempt of a message: one that fails all the time must not push out the others. */
function* latestAttempts(entries: Iterable<Numbered>): Iterable<Numbered> {
  const failed = new Set<string | undefined>()
  for (const one of entries) {
    const { type, key } = one.entry
    if (type === 'attempt-failed' || type === 'put-off') {
      if (failed.has(key)) continue
      failed.add(key)
    }
    yield one
  }
}

function first<T>(most: number, all: Iterable<T>): readonly T[] {
  const found: T[] = []
  for (const one of all) {
    if (found.length === most) break
    found.push(one)
  }
  return found
}

function* mergedNewestFirst(a: Iterable<Numbered>, b: Iterable<Numbered>): Iterable<LiveEntry> {
  const [one, other] = [a[Symbol.iterator](), b[Symbol.iterator]()]
  let [left, right] = [one.next(), other.next()]
  while (left.done !== true || right.done !== true) {
    if (right.done === true || (left.done !== true && left.value.number > right.value.number)) {
      if (left.done !== true) yield left.value.entry
      left = one.next()
    } else {
      yield right.value.entry
      right = other.next()
    }
  }
}

function textOf(error: unknown): string {
  return cut(withoutSecrets(describeError(error)))
}

function cut(text: string): string {
  return text.length > LONGEST_DETAIL ? `${text.slice(0, LONGEST_DETAIL)}…` : text
}
