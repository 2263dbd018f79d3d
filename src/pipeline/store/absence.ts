import { durationText } from '../../core/duration-text.ts'
import type { DurationMs } from '../../core/units.ts'
import type { Clock } from '../../ports/clock.ts'

/** A source that can leave its group or queue, and come back, while its consumer goes on running. */
export interface Member {
  readonly leaveAfterMs: DurationMs
  leave(why: string): void
  comeBack(): void
}

/**
 * Whether this process takes part in its group or queue, as far as its store decides.
 *
 *   present ─ store down ─> waiting ─ `leaveAfterMs` ─> away
 *      └──────── store up ─────┴──────────────────────────┘
 *   any of them ─ stop ─> over
 */
type Presence =
  | { readonly is: 'present' }
  | { readonly is: 'waiting'; readonly cancel: () => void }
  | { readonly is: 'away' }
  | { readonly is: 'over' }

/**
 * Leaves when the store of this process has been down for long, so that processes whose store answers get the messages.
 * Comes back when the store answers: the calls that were under way at the time are asked again and again, which is how
 * that is noticed. So each outage costs one leave and one join at most, however long it lasts.
 */
export class StoreAbsence {
  readonly #clock: Clock
  readonly #member: Member
  #presence: Presence = { is: 'present' }

  constructor(clock: Clock, member: Member) {
    this.#clock = clock
    this.#member = member
  }

  storeDown(): void {
    if (this.#presence.is !== 'present') return
    const cancel = this.#clock.after(this.#member.leaveAfterMs, () => this.#leave())
    this.#become({ is: 'waiting', cancel })
  }

  storeUp(): void {
    const wasAway = this.#presence.is === 'away'
    if (this.#presence.is !== 'over') this.#become({ is: 'present' })
    if (wasAway) this.#member.comeBack()
  }

  stop(): void {
    this.#become({ is: 'over' })
  }

  #leave(): void {
    this.#become({ is: 'away' })
    const since = durationText(this.#member.leaveAfterMs)
    this.#member.leave(
      `the store has been down for ${since}. Other members take over, and this one joins again when the store answers`,
    )
  }

  /** The only place that writes the state. */
  #become(next: Presence): void {
    if (this.#presence.is === 'waiting') this.#presence.cancel()
    this.#presence = next
  }
}
