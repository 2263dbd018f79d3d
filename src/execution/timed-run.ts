import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { hasCode } from '../foundation/errors.ts'

/**
 * States of a run.
 *
 *   ready ──> running ──> ended
 *                └──> abandoned ──> late
 */
type RunState =
  | 'ready'
  | 'running'
  /** In time: somebody waits for its result. */
  | 'ended'
  /** It did not end in time, and nobody waits for it any more. */
  | 'abandoned'
  /** It ended after that. */
  | 'late'

function leadsTo(from: RunState, to: RunState): boolean {
  switch (to) {
    case 'ready':
      return false
    case 'running':
      return from === 'ready'
    case 'ended':
    case 'abandoned':
      return from === 'running'
    case 'late':
      return from === 'abandoned'
  }
}

/** One run of a function of the user, which has a time limit and can be aborted. Its signal is created when it is read. */
export class TimedRun {
  /** Called once, on abort. */
  onAbort: (() => void) | undefined
  #state: RunState = 'ready'
  #startedAt: MonotonicMs = 0
  #controller: AbortController | undefined
  #abortedBy: Error | undefined

  /** What is wrong with a run that lasts longer than this. */
  tooLong(limit: string): string {
    return `the handler ran longer than ${limit}`
  }

  get state(): RunState {
    return this.#state
  }

  begin(now: MonotonicMs): this {
    this.#move('running')
    this.#startedAt = now
    return this
  }

  get startedAt(): MonotonicMs {
    return this.#startedAt
  }

  ranMs(now: MonotonicMs): DurationMs {
    return now - this.#startedAt
  }

  /** Returns `false` if it has ended before. */
  end(): boolean {
    return this.#move(this.#state === 'abandoned' ? 'late' : 'ended')
  }

  /** Nobody waits for it any more. Returns `false` if it has ended. */
  abandon(): boolean {
    return this.#move('abandoned')
  }

  get isAborted(): boolean {
    return this.#abortedBy !== undefined
  }

  /** Why it was aborted. */
  get abortedBy(): Error | undefined {
    return this.#abortedBy
  }

  /** It did not fail: its delivery is gone, or the process stops. */
  get isInterrupted(): boolean {
    return hasCode(this.#abortedBy, 'DELIVERY_LOST') || hasCode(this.#abortedBy, 'STOPPED')
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy)
    return this.#controller.signal
  }

  /** Asks the function to stop effects. The first reason is kept. */
  abort(reason: Error): void {
    if (this.#abortedBy !== undefined) return
    this.#abortedBy = reason
    this.onAbort?.()
    this.#controller?.abort(reason)
  }

  #move(to: RunState): boolean {
    if (!leadsTo(this.#state, to)) return false
    this.#state = to
    return true
  }
}
