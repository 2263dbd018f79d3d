import { noteIn } from '../people/note.ts'
import type { EpochMs, MonotonicMs } from '../core/units.ts'
import type { ReplayRequest } from '../ports/replay.ts'
import type { Redriving } from './dead-letters.ts'
import { HEARTBEAT_MS, HOLD_MS } from './hold.ts'
import type { ReplayJournal } from './journal.ts'
import { refused } from './place.ts'
import type { RedriveOutcome } from '../core/redrive.ts'
import type { RedrivenDeadLetter } from './redrive-options.ts'
import { moved, type RunEvent, type RunStatus } from './run-state.ts'

/** What the ledger keeps of a redrive. */
export interface RedriveState {
  readonly schema_version: 1
  readonly kind: 'redrive'
  readonly id: string
  readonly consumer: string
  readonly places: readonly string[]
  readonly status: RunStatus
  readonly because?: string | undefined
  readonly by: string
  readonly reason: string
  readonly startedAt: EpochMs
  readonly endedAt?: EpochMs | undefined
  /** Dead letters of the places that were opened so far. */
  readonly of: number
  readonly looked: number
  readonly totals: Readonly<Record<RedriveOutcome, number>>
  /** Name of its journal, if it has one. */
  readonly journal?: string | undefined
}

/** One line of the journal of a redrive: one dead letter that was looked at. */
export interface RedriveEntry extends RedrivenDeadLetter {
  readonly redrive: string
  readonly at: EpochMs
}

type Progress = Pick<RedriveState, 'looked' | 'totals' | 'of'>

/** Keeps the state of a redrive for people: who, why, how far, and what they ask of it. */
export class RedriveRecord {
  readonly #ctx: Redriving
  readonly #owner: string
  readonly #journal: ReplayJournal | undefined
  #state: RedriveState
  #savedAt: MonotonicMs

  private constructor(ctx: Redriving, owner: string, state: RedriveState) {
    this.#ctx = ctx
    this.#owner = owner
    this.#journal = ctx.options.journal
    this.#state = state
    this.#savedAt = ctx.clock.monotonic()
  }

  /** @throws ReplayError `REPLAY_REFUSED` if it is over, or another process does it */
  static async begin(ctx: Redriving, owner: string, totals: RedriveState['totals']): Promise<RedriveRecord> {
    const { journal } = ctx.options
    // First: without it nothing begins.
    await journal?.open(0)
    try {
      return await RedriveRecord.#taken(ctx, owner, totals)
    } catch (error) {
      await journal?.close()
      throw error
    }
  }

  static async #taken(ctx: Redriving, owner: string, totals: RedriveState['totals']): Promise<RedriveRecord> {
    const { of, id, clock, places, options } = ctx
    const { by = '', reason = '', journal } = options
    const fresh: RedriveState = {
      schema_version: 1,
      kind: 'redrive',
      id,
      consumer: of.consumer.name,
      places,
      status: 'running',
      by,
      reason,
      startedAt: clock.now(),
      of: 0,
      looked: 0,
      totals,
      journal: journal?.name,
    }
    const taken = await of.ledger().take(of.scope, id, { owner, ttlMs: HOLD_MS, state: JSON.stringify(fresh) })
    if (taken.verdict === 'held') throw refused(`${id}: another process does it now`)
    const state = moved(JSON.parse(taken.state) as RedriveState, { event: 'begin' })
    const record = state === undefined ? undefined : new RedriveRecord(ctx, owner, state)
    const request = await record?.save()
    if (state === undefined || record === undefined || request === 'abort') {
      await of.ledger().leave(of.scope, id, owner)
      throw refused(`${id} is over: look at the dead letters again`)
    }
    await noteIn(of.admin, of.scope, { what: 'start', about: id, by, reason })
    return record
  }

  /** Writes what became of these. Resolves with what a person asked for, every 2 s at most. */
  async keep(deadLetters: readonly RedrivenDeadLetter[], progress: Progress): Promise<ReplayRequest | undefined> {
    const { id, clock } = this.#ctx
    const meant = deadLetters.filter(({ outcome }) => outcome !== 'filtered' && outcome !== 'unconfirmed')
    const at = clock.now()
    if (meant.length > 0) {
      await this.#journal?.append(
        meant.map((one) => JSON.stringify({ redrive: id, ...one, at } satisfies RedriveEntry)),
      )
    }
    this.#state = { ...this.#state, ...progress }
    return clock.monotonic() - this.#savedAt < HEARTBEAT_MS ? undefined : this.save()
  }

  /** @throws ReplayError `REPLAY_REFUSED` if another process has it now */
  async save(): Promise<ReplayRequest | undefined> {
    const { of, id, clock } = this.#ctx
    const at = clock.monotonic()
    const how = { owner: this.#owner, ttlMs: HOLD_MS, state: JSON.stringify(this.#state) }
    const answer = await of.ledger().save(of.scope, id, how)
    if (!answer.held) throw refused(`${id}: another process does it now`)
    this.#savedAt = at
    return answer.request
  }

  async end(event: RunEvent): Promise<void> {
    const { of, id } = this.#ctx
    this.#state = moved(this.#state, event) ?? this.#state
    try {
      await this.save()
      await of.ledger().leave(of.scope, id, this.#owner)
    } finally {
      await this.#journal?.close()
    }
  }
}
