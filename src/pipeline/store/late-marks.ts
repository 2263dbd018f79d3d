import type { Digest, Key, Result } from '../../core/record.ts'
import type { EpochMs } from '../../core/units.ts'
import type { Message } from '../../ports/message.ts'
import type { Claim, ClaimAnswer } from '../../ports/store.ts'
import { Fifo } from '../intake/fifo.ts'
import type { Services } from '../services.ts'

/** A message whose handler ended well without a claim. */
export interface LateMark {
  readonly key: Key
  readonly digest: Digest
  readonly kept: Result | undefined
  /** When its handler ended. */
  readonly at: EpochMs
  readonly place: Pick<Message, 'system' | 'destination' | 'position'>
  /** Mode `observe`: its verdict was told already. */
  readonly isTold?: boolean
  /** A claim that the store granted after all, while the handler ran without it. */
  readonly claim?: Claim | undefined
}

interface LateMarksHooks {
  /** What the store answered to the late claim. */
  readonly onAnswer?: (mark: LateMark, answer: ClaimAnswer<unknown>) => void
  /** All answers of one batch were told. */
  readonly onBatch?: () => void
  /** These were never written: too many waited, or the process stopped first. */
  readonly onLost?: (count: number) => void
}

/** The most that wait for the store. One takes about 400 bytes. */
const MOST_WAITING = 10_000
const BATCH = 500
/** How long marks gather: a redelivery takes longer, and one call for many costs least. */
const GATHER_MS = 50
/** Another owner was busy, or a backoff was not over: how often it is asked again, and after how long. */
const BUSY_TRIES = 5
const BUSY_PAUSE_MS = 2_000

/**
 * Writes the records of messages that ran without a claim: claims and marks in batches, beside the handlers. No message
 * waits for it. What the store does not answer is asked again until it does; meanwhile at most `MOST_WAITING` wait, the
 * oldest are lost first.
 */
export class LateMarks {
  readonly #services: Services
  readonly #hooks: LateMarksHooks
  readonly #waiting = new Fifo<LateMark>()
  readonly #tries = new WeakMap<LateMark, number>()
  /** Timers of marks that were busy. */
  readonly #pauses = new Map<LateMark, () => void>()
  #cancelGather: (() => void) | undefined
  #isAtWork = false
  #isClosed = false
  #onWritten: (() => void) | undefined

  constructor(services: Services, hooks: LateMarksHooks) {
    this.#services = services
    this.#hooks = hooks
  }

  add(mark: LateMark): void {
    if (this.#isClosed) return this.#hooks.onLost?.(1)
    if (this.#waiting.length >= MOST_WAITING) {
      this.#waiting.shift()
      this.#hooks.onLost?.(1)
    }
    this.#waiting.push(mark)
    if (!this.#isAtWork) this.#gather()
  }

  #gather(): void {
    this.#cancelGather ??= this.#services.clock.after(GATHER_MS, () => void this.#work())
  }

  /** Resolves when everything is written, or at once if the store is down. */
  written(): Promise<void> {
    if (this.#isDone || this.#services.store.isDown) return Promise.resolve()
    void this.#work()
    return new Promise((resolve) => {
      this.#onWritten = resolve
    })
  }

  /** Loses what waits, and leaves no timer. */
  close(): void {
    this.#isClosed = true
    this.#cancelGather?.()
    const lost = this.#waiting.remove(() => true).length + this.#pauses.size
    for (const cancel of this.#pauses.values()) cancel()
    this.#pauses.clear()
    if (lost > 0) this.#hooks.onLost?.(lost)
    this.#onWritten?.()
  }

  get #isDone(): boolean {
    return this.#waiting.length === 0 && !this.#isAtWork
  }

  async #work(): Promise<void> {
    this.#cancelGather?.()
    this.#cancelGather = undefined
    if (this.#isAtWork) return
    this.#isAtWork = true
    for (let due = this.#waiting.length; due > 0;) {
      const batch = this.#take()
      await this.#write(batch)
      // What came meanwhile gathers, unless it is a whole batch or somebody waits for the end.
      const isAllDue = this.#waiting.length >= BATCH || this.#onWritten !== undefined
      due = isAllDue ? this.#waiting.length : Math.min(due - batch.length, this.#waiting.length)
    }
    this.#isAtWork = false
    if (this.#waiting.length > 0) this.#gather()
    else this.#onWritten?.()
  }

  /** A batch has distinct keys. */
  #take(): readonly LateMark[] {
    const taken = new Map<Key, LateMark>()
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      if (taken.size === BATCH || taken.has(next.key)) break
      taken.set(next.key, next)
      this.#waiting.shift()
    }
    return [...taken.values()]
  }

  async #write(batch: readonly LateMark[]): Promise<void> {
    const { store } = this.#services
    const claims: Claim[] = []
    const kept: (Result | undefined)[] = []
    const unclaimed: LateMark[] = []
    for (const mark of batch) {
      if (mark.claim === undefined) unclaimed.push(mark)
      else {
        claims.push(mark.claim)
        kept.push(mark.kept)
      }
    }
    const answers = unclaimed.length === 0 ? [] : await store.claimLate(unclaimed)
    if (answers === undefined) this.#hooks.onLost?.(unclaimed.length)
    else {
      for (const [at, mark] of unclaimed.entries()) {
        const answer = answers[at]
        if (answer === undefined || (answer.verdict === 'busy' && this.#isAskedAgain(mark))) continue
        this.#hooks.onAnswer?.(mark, answer)
        if (!('claim' in answer)) continue
        claims.push(answer.claim)
        kept.push(mark.kept)
      }
      this.#hooks.onBatch?.()
    }
    if (claims.length > 0) await store.markLate(claims, kept)
  }

  #isAskedAgain(mark: LateMark): boolean {
    const tries = this.#tries.get(mark) ?? 0
    if (this.#isClosed || this.#services.isDraining || tries >= BUSY_TRIES) return false
    this.#tries.set(mark, tries + 1)
    const cancel = this.#services.clock.after(BUSY_PAUSE_MS, () => {
      this.#pauses.delete(mark)
      this.add(mark)
    })
    this.#pauses.set(mark, cancel)
    return true
  }
}
