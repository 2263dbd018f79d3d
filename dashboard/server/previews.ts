import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/ports/clock.ts'
import type { RecordView } from '../../src/core/record.ts'
import type { DecisionKind } from '../api.ts'
import { HttpError } from './http-error.ts'

/** A decision that a person has seen, and has not confirmed yet. */
export interface Previewed {
  readonly consumer: string
  readonly by: string
  readonly decision: DecisionKind
  /** The records that would change, each as it was shown. */
  readonly records: ReadonlyMap<string, string>
}

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
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST) break
      this.#kept.delete(oldest)
    }
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

/** Two texts differ if the record was claimed, decided or set aside in between. */
export function versionOf({ state, fence, attempt, since }: RecordView): string {
  return JSON.stringify([state, fence, attempt, since])
}
