import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/ports/clock.ts'
import type { RecordView } from '../../src/core/record.ts'
import type { DecisionKind } from '../api.ts'
import { dropOldest } from './bounded.ts'
import { HttpError } from './http-error.ts'

/** A decision that a person has seen, and has not confirmed yet. */
export interface Previewed {
  readonly consumer: string
  readonly by: string
  readonly decision: DecisionKind
  /** The records that would change, each as it was shown. */
  readonly records: ReadonlyMap<string, Version>
}

type Version = Pick<RecordView, 'state' | 'fence' | 'attempt' | 'since'>

/** Redis reckons when a record was marked from two readings of the clock, between which a busy server may rest. */
const SAME_MARK_WITHIN_MS = 1_000
const GOOD_FOR_MS = 300_000
const MOST = 100

export class Previews {
  readonly #clock: Clock
  readonly #kept = new Map<string, Previewed & { readonly until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  keep(previewed: Previewed): string {
    const token = randomBytes(18).toString('base64url')
    this.#kept.set(token, { ...previewed, until: this.#clock.monotonic() + GOOD_FOR_MS })
    dropOldest(this.#kept, MOST)
    return token
  }

  /** @throws HttpError 409: it is unknown, over, used, or somebody else's */
  look(token: string, { consumer, by }: Pick<Previewed, 'consumer' | 'by'>): Previewed {
    const kept = this.#kept.get(token)
    if (kept !== undefined && kept.consumer === consumer && kept.by === by && this.#clock.monotonic() < kept.until) {
      return kept
    }
    throw new HttpError(409, 'HTTP_PREVIEW', 'this preview is over, or was used: look again before you decide')
  }

  use(token: string): void {
    this.#kept.delete(token)
  }
}

export function versionOf({ state, fence, attempt, since }: RecordView): Version {
  return { state, fence, attempt, since }
}

/** False if the record was claimed, decided or set aside in between. */
export function isUnchanged({ state, fence, attempt, since }: Version, now: RecordView): boolean {
  if (state !== now.state || fence !== now.fence || attempt !== now.attempt) return false
  if (since === undefined || now.since === undefined) return since === now.since
  return Math.abs(now.since - since) <= SAME_MARK_WITHIN_MS
}
