import { Watermark } from '../core/watermark.ts'
import type { MonotonicMs } from '../core/units.ts'
import { describeError, ReplayError } from '../foundation/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Checkpoint, ReplayItem, ReplayLedger, ReplayRequest } from '../ports/replay.ts'
import { HEARTBEAT_MS, HOLD_MS } from './hold.ts'
import type { JournalEntry, JournalIntent, ReplayJournal } from './journal.ts'
import type { RunState, Totals } from './run-state.ts'

const FLUSH_EVERY_MS = 250
const SAVE_EVERY_MS = 1_000
const FLUSH_AT = 500

interface Pending {
  readonly item: ReplayItem
  readonly entry: JournalEntry
  readonly ticket: Ticket
  readonly settle: 'done' | 'return'
}

/** Lines that were written together, and the journal before them. */
export interface Written {
  readonly before: { readonly bytes: number; readonly totals: Totals }
  /** The highest position that has a line, by part. */
  readonly upTo: ReadonlyMap<string, bigint>
}

/** A position that was read, and is not in the journal yet. */
export interface Ticket {
  readonly part: string
  readonly position: bigint
  readonly number: number
}

export interface RecorderParts {
  readonly scope: string
  readonly owner: string
  readonly ledger: ReplayLedger
  readonly journal: ReplayJournal
  readonly clock: Clock
  readonly state: RunState
  /** When the hold was taken. */
  readonly heldSince: MonotonicMs
  /** Size of the journal. */
  readonly bytes: number
  /** What earlier runs wrote beyond the checkpoint. */
  readonly ahead: readonly Written[]
  /** The totals have changed. */
  readonly onWritten: () => void
  /** What people asked for, in another process. */
  readonly onRequest: (request: ReplayRequest) => void
  /** The hold is lost, or the journal cannot be written: nothing more may begin. */
  readonly onLost: (error: Error) => void
}

/**
 * Writes what became of each message: first to the journal, durably, then the checkpoint to the ledger, then a queue's message is
 * settled. So the checkpoint never passes a message that is not in the journal.
 */
export class Recorder {
  readonly #with: RecorderParts
  readonly #parts = new Map<string, Watermark<bigint>>()
  #state: RunState
  #totals: Record<keyof Totals, number>
  #pending: Pending[] = []
  /** The journal has these beyond the checkpoint, because a message before them has no entry yet. */
  readonly #ahead: Written[]
  #bytes: number
  #last: Promise<unknown> = Promise.resolve()
  #cancelTick: () => void = () => {}
  #isClosed = false
  #savedAt: number
  #isChanged = false

  constructor(parts: RecorderParts) {
    this.#with = parts
    this.#state = parts.state
    this.#totals = { ...parts.state.totals }
    this.#bytes = parts.bytes
    this.#ahead = [...parts.ahead]
    this.#savedAt = parts.heldSince
    this.#tick()
  }

  get state(): RunState {
    const written = this.#ahead[0]?.before ?? { bytes: this.#bytes, totals: { ...this.#totals } }
    return {
      ...this.#state,
      totals: { ...this.#totals },
      checkpoint: this.#checkpoint(),
      journal: { name: this.#with.journal.name, ...written },
    }
  }

  get totals(): Totals {
    return this.#totals
  }

  /** Nobody else can have taken the replay over. */
  get isHeld(): boolean {
    return this.#with.clock.monotonic() - this.#savedAt < HOLD_MS - HEARTBEAT_MS
  }

  /** Must be called for each item, in the order of reading. */
  received({ part, position }: ReplayItem): Ticket {
    const known = this.#parts.get(part) ?? new Watermark<bigint>()
    this.#parts.set(part, known)
    const at = BigInt(position)
    return { part, position: at, number: known.receive(at) }
  }

  /** `settle`: what happens with a message of a queue. `done` needs the answer of a claim: what `peek` reads may not be durable yet. */
  record(item: ReplayItem, ticket: Ticket, entry: JournalEntry, settle: 'done' | 'return'): void {
    this.#pending.push({ item, ticket, entry, settle })
    if (this.#pending.length >= FLUSH_AT) void this.flush()
  }

  /** The item is in the journal of an earlier run. */
  accountedBefore(ticket: Ticket): void {
    this.#finish(ticket)
  }

  /** Resolves when the line is durable. */
  intend(intents: readonly (JournalIntent & { readonly ticket: Ticket })[]): Promise<void> {
    return this.#inTurn(() =>
      this.#append(
        intents.map(({ replay, part, position, key, intends }) =>
          JSON.stringify({ replay, part, position, key, intends }),
        ),
        intents.map(({ ticket }) => ticket),
      ),
    )
  }

  /** Resolves when everything recorded so far is in the journal, unless somebody else may have the replay now. */
  flush(): Promise<void> {
    return this.#inTurn(() => this.#flushPending()).catch((error: unknown) => this.#with.onLost(asError(error)))
  }

  /** Writes the last state, and gives the hold up. */
  async close(move: (state: RunState) => RunState): Promise<RunState> {
    this.#isClosed = true
    this.#cancelTick()
    return this.#inTurn(async () => {
      if (!this.isHeld) await this.#save()
      await this.#flushPending()
      this.#state = move(this.#state)
      await this.#save()
      const { ledger, scope, owner } = this.#with
      await ledger.leave(scope, this.#state.plan.id, owner)
      return this.state
    })
  }

  /** Stops writing, after the hold was lost. */
  abandon(): void {
    this.#isClosed = true
    this.#cancelTick()
  }

  /** One write after the other: the state must not claim more than the journal has. */
  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(write)
    this.#last = turn.catch(() => {})
    return turn
  }

  #tick(): void {
    if (this.#isClosed) return
    this.#cancelTick = this.#with.clock.after(FLUSH_EVERY_MS, () => {
      void this.flush()
        .then(() => this.#inTurn(() => this.#saveIfDue()))
        .finally(() => this.#tick())
    })
  }

  async #flushPending(): Promise<void> {
    // Another process may write to the journal now: the next save tells.
    if (this.#pending.length === 0 || !this.isHeld) return
    const flushed = this.#pending
    this.#pending = []
    try {
      await this.#append(
        flushed.map(({ entry }) => JSON.stringify(entry)),
        flushed.map(({ ticket }) => ticket),
      )
    } catch (error) {
      this.#pending = [...flushed, ...this.#pending]
      throw error
    }
    for (const { ticket, entry } of flushed) {
      this.#totals[entry.outcome]++
      this.#finish(ticket)
    }
    while (this.#ahead[0] !== undefined && this.#isPassed(this.#ahead[0])) this.#ahead.shift()
    this.#with.onWritten()
    await Promise.all(flushed.map(async ({ item, settle }) => item.settle?.(settle)))
  }

  async #append(lines: readonly string[], tickets: readonly Ticket[]): Promise<void> {
    const before = { bytes: this.#bytes, totals: { ...this.#totals } }
    this.#bytes = await this.#with.journal.append(lines)
    const upTo = new Map<string, bigint>()
    for (const { part, position } of tickets) if (position >= (upTo.get(part) ?? 0n)) upTo.set(part, position)
    this.#ahead.push({ before, upTo })
    this.#isChanged = true
  }

  async #saveIfDue(): Promise<void> {
    const { clock, onRequest, onLost } = this.#with
    const since = clock.monotonic() - this.#savedAt
    if (this.#isClosed || since < (this.#isChanged ? SAVE_EVERY_MS : HEARTBEAT_MS)) return
    try {
      const request = await this.#save()
      if (request !== undefined) onRequest(request)
    } catch (error) {
      if (error instanceof ReplayError) onLost(error)
      // The store does not answer: it is asked again. Nothing begins once the hold may be over (`isHeld`).
      this.#isChanged = true
    }
  }

  /** @throws ReplayError `REPLAY_REFUSED` if the hold is lost; StoreError */
  async #save(): Promise<ReplayRequest | undefined> {
    const { clock, ledger, scope, owner } = this.#with
    const sentAt = clock.monotonic()
    this.#isChanged = false
    const answer = await ledger.save(scope, this.#state.plan.id, { owner, ttlMs: HOLD_MS, state: this.#text() })
    if (!answer.held) throw this.#taken()
    this.#savedAt = sentAt
    return answer.request
  }

  #taken(): ReplayError {
    return new ReplayError(
      'REPLAY_REFUSED',
      `replay ${this.#state.plan.id}: another process runs it now; what this one handled is marked, and the other one finds it done`,
    )
  }

  #text(): string {
    return JSON.stringify(this.state)
  }

  #finish({ part, number }: Ticket): void {
    this.#parts.get(part)?.finish(number)
    this.#isChanged = true
  }

  #isPassed({ upTo }: Written): boolean {
    const checkpoint = this.#checkpoint()
    return [...upTo].every(([part, position]) => position < BigInt(checkpoint[part] ?? 0))
  }

  #checkpoint(): Checkpoint {
    const checkpoint: Record<string, string> = { ...this.#state.checkpoint }
    for (const [part, { finishedUpTo }] of this.#parts) {
      if (finishedUpTo !== undefined) checkpoint[part] = String(finishedUpTo + 1n)
    }
    return checkpoint
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(describeError(error))
}
