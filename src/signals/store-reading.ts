import type { DurationMs, EpochMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { StoreAdmin } from '../ports/store-admin.ts'
import type { Store } from '../ports/store.ts'
import { PARKED_BECAUSE, reasonOf, RECORDED_AS_GIVEN_UP } from './reasons.ts'
import { EachOnce } from '../records/each-once.ts'

/** What a store says of one scope. A field that it cannot tell is missing. */
export interface StoreFacts {
  /** Parked messages by reason. */
  readonly parked?: ReadonlyMap<string, number>
  /** Messages that were given up, by reason. */
  readonly givenUp?: ReadonlyMap<string, number>
  /** Partitions that are held. */
  readonly held?: number
  /** The time from which absence proves anything. */
  readonly knownSince?: EpochMs
}

interface Asked {
  readonly scope: string
  readonly store: Store<unknown>
}

/** A server is not asked again before this time is over. */
const EVERY_MS = 15_000
/** Nor before this many times as long as its last answer took: Redis looks at every key for a list. */
const REST = 100
/** How long a reader waits for the answer. A later one gets it, when it is there. */
const WAIT_MS = 1_000
const PAGE = 1_000
const MOST_COUNTED = 10_000

/** What became of a question. `late`: the answer is still awaited. */
type Refreshed = 'as-it-was' | 'answered' | 'failed' | 'late'

/**
 * Asks a server what gauges show, such as a store what waits for people, at most every 15 s. A server that does not answer costs a reader one second once:
 * until it has answered, nobody else waits or asks. The last answer stays until there is another one.
 */
export class Reading<Facts> {
  readonly #clock: Clock
  readonly #question: () => Promise<Facts>
  #facts: Facts | undefined
  #readAt: MonotonicMs
  #isAsking = false
  #dueAt: MonotonicMs | undefined

  constructor(clock: Clock, question: () => Promise<Facts>) {
    this.#clock = clock
    this.#question = question
    this.#readAt = clock.monotonic()
  }

  /** The last answer; `undefined` before the first one. */
  get facts(): Facts | undefined {
    return this.#facts
  }

  /** How old the last answer is; before the first one, for how long there has been none. */
  get ageMs(): DurationMs {
    return this.#clock.monotonic() - this.#readAt
  }

  /** Asks if that is due, and waits for a second at most. Never rejects. */
  async refresh(): Promise<Refreshed> {
    const isDue = this.#dueAt === undefined || this.#clock.monotonic() >= this.#dueAt
    return isDue && !this.#isAsking ? await withinASecond(this.#clock, this.#ask()) : 'as-it-was'
  }

  async #ask(): Promise<'answered' | 'failed'> {
    const startedAt = this.#clock.monotonic()
    this.#isAsking = true
    let restMs = EVERY_MS
    try {
      this.#facts = await this.#question()
      this.#readAt = startedAt
      restMs = Math.max(EVERY_MS, REST * (this.#clock.monotonic() - startedAt))
      return 'answered'
    } catch {
      return 'failed'
    } finally {
      this.#isAsking = false
      this.#dueAt = this.#clock.monotonic() + restMs
    }
  }
}

/** Resolves with `late` if `asking`, which never rejects, takes longer. */
export async function withinASecond<T>(clock: Clock, asking: Promise<T>): Promise<T | 'late'> {
  let cancel: (() => void) | undefined
  const late = new Promise<'late'>((resolve) => {
    cancel = clock.after(WAIT_MS, () => resolve('late'), { background: true })
  })
  try {
    return await Promise.race([asking, late])
  } finally {
    cancel?.()
  }
}

export async function factsOf({ scope, store }: Asked): Promise<StoreFacts> {
  if (store.strategy === 'offsets') {
    const positions = await store.positions.list(scope)
    return { held: positions.filter(({ held }) => held !== undefined).length }
  }
  const { admin } = store
  if (admin === undefined) return {}
  const known = await admin.knownSince?.(scope)
  const parked = await counted(admin, { scope, state: 'parked', zeros: PARKED_BECAUSE })
  const givenUp = await counted(admin, { scope, state: 'given-up', zeros: RECORDED_AS_GIVEN_UP })
  return { parked, givenUp, ...(known !== undefined && { knownSince: known.at }) }
}

interface Counting {
  readonly scope: string
  readonly state: 'parked' | 'given-up'
  /** Reasons that are there even if no message has them, so that an alert sees the first one. */
  readonly zeros: readonly string[]
}

async function counted(admin: StoreAdmin, { scope, state, zeros }: Counting): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(zeros.map((reason): [string, number] => [reason, 0]))
  const once = new EachOnce()
  let after: string | undefined
  for (let looked = 0; looked < MOST_COUNTED;) {
    const page = await admin.list(scope, { state, limit: PAGE, after })
    for (const record of once.of(page.records)) {
      const reason = reasonOf(record.reason ?? '')
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    }
    looked += page.records.length
    after = page.next
    if (after === undefined) break
  }
  return counts
}
