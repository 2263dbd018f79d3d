import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { StoreAdmin } from '../ports/store-admin.ts'
import type { Store } from '../ports/store.ts'
import { PARKED_BECAUSE, reasonOf, RECORDED_AS_GIVEN_UP } from './reasons.ts'
import { EachOnce } from '../people/each-once.ts'

/** What a store says of one scope. A field that it cannot tell is missing. */
export interface StoreFacts {
  /** Parked messages by reason. */
  readonly parked?: ReadonlyMap<string, number>
  /** Messages that were given up, by reason. */
  readonly givenUp?: ReadonlyMap<string, number>
  /** Partitions that are held. */
  readonly held?: number
  /** How long ago the time is from which absence proves anything. */
  readonly horizonMs?: DurationMs
}

interface Asked {
  readonly scope: string
  readonly store: Store<unknown>
}

/** A store is not asked again before this time is over. */
const EVERY_MS = 15_000
/** Nor before this many times as long as its last answer took: Redis looks at every key for a list. */
const REST = 100
/** How long a reader waits for the answer. A later one gets it, when it is there. */
const WAIT_MS = 1_000
const PAGE = 1_000
const MOST_COUNTED = 10_000

/**
 * Asks a store what waits for people, at most every 15 s. A store that does not answer costs a reader one second once:
 * until it has answered, nobody else waits or asks.
 */
export class StoreReading {
  readonly #clock: Clock
  readonly #asked: Asked
  #facts: StoreFacts | undefined
  #isAsking = false
  #dueAt: MonotonicMs | undefined

  constructor(clock: Clock, asked: Asked) {
    this.#clock = clock
    this.#asked = asked
  }

  /** `undefined`: the store has not answered, or its last answer was an error. Never rejects. */
  async value(): Promise<StoreFacts | undefined> {
    const isDue = this.#dueAt === undefined || this.#clock.monotonic() >= this.#dueAt
    if (isDue && !this.#isAsking) await this.#inTime(this.#ask())
    return this.#facts
  }

  async #ask(): Promise<void> {
    const startedAt = this.#clock.monotonic()
    this.#isAsking = true
    try {
      this.#facts = await factsOf(this.#asked, this.#clock)
    } catch {
      this.#facts = undefined
    } finally {
      const now = this.#clock.monotonic()
      this.#isAsking = false
      this.#dueAt = now + Math.max(EVERY_MS, REST * (now - startedAt))
    }
  }

  async #inTime(asking: Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => {
      const late = (): void => {
        // Until it answers, what it said before is not known to hold.
        this.#facts = undefined
        resolve()
      }
      const cancel = this.#clock.after(WAIT_MS, late, { background: true })
      void asking.finally(() => {
        cancel()
        resolve()
      })
    })
  }
}

async function factsOf({ scope, store }: Asked, clock: Clock): Promise<StoreFacts> {
  if (store.strategy === 'offsets') {
    const positions = await store.positions.list(scope)
    return { held: positions.filter(({ held }) => held !== undefined).length }
  }
  const { admin } = store
  if (admin === undefined) return {}
  const known = await admin.knownSince?.(scope)
  const parked = await counted(admin, { scope, state: 'parked', zeros: PARKED_BECAUSE })
  const givenUp = await counted(admin, { scope, state: 'given-up', zeros: RECORDED_AS_GIVEN_UP })
  return { parked, givenUp, ...(known !== undefined && { horizonMs: Math.max(0, clock.now() - known.at) }) }
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
