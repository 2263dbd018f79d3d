import type { EpochMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { LedgerEntry, ReplayLedger, ReplayRequest, SaveAnswer, Taking, TakeVerdict } from '../ports/replay.ts'
import { checkReplayState } from '../records/replay-state.ts'

export interface MemoryReplay {
  readonly id: string
  readonly createdAt: EpochMs
  savedAt: EpochMs
  state: string
  request: ReplayRequest | undefined
  owner: string | undefined
  heldUntil: EpochMs
}

/** Replays by scope and ID, in the order in which they were created. */
export type MemoryReplays = Map<string, Map<string, MemoryReplay>>

/** The reference ledger. Nothing in it awaits, so each method is atomic. */
export class MemoryReplayLedger implements ReplayLedger {
  readonly #clock: Pick<Clock, 'now'>
  readonly #replays: MemoryReplays

  constructor(clock: Pick<Clock, 'now'>, replays: MemoryReplays) {
    this.#clock = clock
    this.#replays = replays
  }

  async take(scope: string, id: string, { owner, ttlMs, state }: Taking): Promise<TakeVerdict> {
    checkReplayState(state)
    const now = this.#clock.now()
    const replay = this.#find(scope, id) ?? this.#create(scope, { id, state, now })
    const isHeld = replay.owner !== undefined && replay.owner !== owner && replay.heldUntil > now // mutant: replay-hold-shared
    if (isHeld) return { verdict: 'held', leftMs: replay.heldUntil - now, state: replay.state }
    if (replay.owner !== owner && replay.request === 'pause') replay.request = undefined
    replay.owner = owner
    replay.heldUntil = now + ttlMs
    return { verdict: 'taken', state: replay.state }
  }

  async save(scope: string, id: string, { owner, ttlMs, state }: Taking): Promise<SaveAnswer> {
    checkReplayState(state)
    const now = this.#clock.now()
    const replay = this.#find(scope, id)
    // A hold that has ended is not lost until somebody else takes it.
    if (replay?.owner !== owner) return { held: false }
    replay.state = state
    replay.savedAt = now
    replay.heldUntil = now + ttlMs
    return { held: true, request: replay.request }
  }

  async leave(scope: string, id: string, owner: string): Promise<void> {
    const replay = this.#find(scope, id)
    if (replay?.owner === owner) replay.owner = undefined
  }

  async ask(scope: string, id: string, request: ReplayRequest | undefined): Promise<boolean> {
    const replay = this.#find(scope, id)
    if (replay === undefined) return false
    replay.request = request
    return true
  }

  async read(scope: string, id: string): Promise<LedgerEntry | undefined> {
    const replay = this.#find(scope, id)
    return replay && this.#entryOf(replay)
  }

  async list(scope: string, limit: number): Promise<readonly LedgerEntry[]> {
    const all = [...(this.#replays.get(scope)?.values() ?? [])]
    return all
      .toReversed()
      .slice(0, limit)
      .map((replay) => this.#entryOf(replay))
  }

  #find(scope: string, id: string): MemoryReplay | undefined {
    return this.#replays.get(scope)?.get(id)
  }

  #create(scope: string, { id, state, now }: { id: string; state: string; now: EpochMs }): MemoryReplay {
    const ofScope = this.#replays.get(scope) ?? new Map<string, MemoryReplay>()
    this.#replays.set(scope, ofScope)
    const replay = { id, createdAt: now, savedAt: now, state, request: undefined, owner: undefined, heldUntil: 0 }
    ofScope.set(id, replay)
    return replay
  }

  #entryOf({ id, state, createdAt, savedAt, request, owner, heldUntil }: MemoryReplay): LedgerEntry {
    const heldForMs = owner === undefined ? 0 : Math.max(0, heldUntil - this.#clock.now())
    return { id, state, createdAt, savedAt, heldForMs, request }
  }
}
