import {
  admitsFailure,
  allowance,
  AT_EASE,
  isHolding,
  moved,
  trialDelayMs,
  type Breaker,
  type BreakerEvent,
} from '../core/breaker.ts'
import { durationText } from '../core/duration-text.ts'
import type { MonotonicMs } from '../core/units.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Message } from '../ports/message.ts'
import type { FailureTold } from '../ports/observer.ts'
import type { Ending, FoundAside } from './ending.ts'
import type { Lanes } from './intake/lanes.ts'
import type { Tell } from './telemetry/observe.ts'
import { redactedDetail } from './telemetry/redact.ts'
import type { Task } from './task.ts'

interface HoldParts {
  readonly consumer: ResolvedConsumer
  readonly clock: Clock
  readonly observe: Tell
  readonly lanes: Lanes
  /** A message has begun and not ended. */
  readonly isAnyRunning: () => boolean
  /** A message may begin. */
  readonly mayBegin: () => void
}

/** Why a message ends without its effect. */
interface Failing {
  readonly reason: string
  readonly detail: string
  readonly error?: unknown
}

/** How many of the last failures are told. */
const TOLD = 3

/**
 * Holds the consumer while nothing but final failures comes through (core/breaker.ts). What is held back keeps its
 * place, its record and its attempts: it is not settled, and another process or a later version can handle it. With
 * `hold: false`, and in mode `observe`, in which no message ends without its effect, it never leaves `AT_EASE`.
 */
export class Hold {
  readonly #parts: HoldParts
  readonly #limit: number
  readonly #isOn: boolean
  #state: Breaker = AT_EASE
  #last: readonly FailureTold[] = []
  /** Told from then on. */
  #since: MonotonicMs = 0
  #trialAt: MonotonicMs = 0
  #cancel: (() => void) | undefined
  /**
   * Messages whose attempt failed or that were held back, with the number of the time since the last success. Once there
   * was a success, they say nothing about what comes after it.
   */
  #failing = new WeakMap<Task, number>()
  #time = 0
  /** A message failed in this time. */
  #hasFailing = false
  #isOver = false

  constructor(parts: HoldParts) {
    this.#parts = parts
    const { holdAfter } = parts.consumer
    this.#limit = holdAfter
    this.#isOn = Number.isFinite(holdAfter)
  }

  get isHolding(): boolean {
    return isHolding(this.#state)
  }

  /** The next message without a usable ID may end. A message that is ready to run is the better trial. */
  get admitsUnidentified(): boolean {
    const { lanes, isAnyRunning } = this.#parts
    if (this.#state.is === 'closed') return true
    return admitsFailure(this.#state) && !lanes.isHeld && lanes.ready === 0 && !isAnyRunning()
  }

  /** The text of `health().checks.hold`. */
  get check(): string {
    if (!this.isHolding) return 'ok'
    const now = this.#parts.clock.monotonic()
    const next =
      this.#state.is === 'trying'
        ? 'the next one is tried now'
        : `the next one is tried in ${durationText(seconds(this.#trialAt - now))}`
    return (
      `holding for ${durationText(seconds(now - this.#since))}: ${this.#limit} messages or more in a row ended without their effect, and none was handled. ` +
      `Last: ${this.#last.map(told).join('; ')}. The others wait, and ${next}. ` +
      'Look at id, decode, schema, the handler and the producer, and deploy what mends it; resume() goes on as it is'
    )
  }

  /** A message is to end without its effect. `false`: it must not, and goes back to its place. */
  admits(why: Failing, task: Task): boolean {
    if (!this.#isOn) return true
    if (!admitsFailure(this.#state)) {
      this.#note(task)
      return false
    }
    this.failed(why, task.message, task)
    return true
  }

  /** A message ends without its effect. `task`: missing if it has no usable ID. */
  failed(why: Failing, message: Message, task?: Task): void {
    if (!this.#isOn || (this.#state.is === 'closed' && task !== undefined && this.#isOfBefore(task))) return
    const { destination, position } = message
    const failure = { reason: why.reason, detail: redactedDetail(why, message), destination, position }
    this.#last = [...this.#last, failure].slice(-TOLD)
    this.#move('failed')
    this.#look()
  }

  /** A task has ended, for now or for good. */
  ended(ending: Ending, task: Task): void {
    const event = eventOf(ending)
    if (event === 'attempt-failed') this.#note(task)
    else if (event === 'succeeded') this.#nextTime()
    if (this.#state === AT_EASE) return
    if (event !== undefined) this.#move(event)
    this.#look()
  }

  #note(task: Task): void {
    if (this.#failing.has(task)) return
    this.#failing.set(task, this.#time)
    this.#hasFailing = true
  }

  #nextTime(): void {
    if (!this.#hasFailing) return
    this.#time++
    this.#hasFailing = false
  }

  /** It failed before the last success: others came through meanwhile. */
  #isOfBefore(task: Task): boolean {
    return (this.#failing.get(task) ?? this.#time) < this.#time
  }

  /** A person says: go on. */
  resumed(): void {
    this.#failing = new WeakMap()
    this.#move('resumed')
  }

  stop(): void {
    this.#isOver = true
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** No further arrival can be looked at now. */
  looked(): void {
    if (this.#state !== AT_EASE) this.#look()
  }

  /** When nothing runs, the next step can be taken. */
  #look(): void {
    const { lanes, isAnyRunning, mayBegin } = this.#parts
    if (this.#isOver || lanes.isHeld || this.#state.is === 'closed' || this.#state.is === 'holding') return
    if (isAnyRunning()) return
    this.#move(lanes.ready > 0 ? 'idle' : 'nothing-left')
    const most = allowance(this.#state)
    if (most <= lanes.allowance) return
    lanes.allowance = most
    lanes.untriedFirst()
    mayBegin()
  }

  #move(event: BreakerEvent): void {
    const before = this.#state
    const next = moved(before, event, this.#limit)
    if (next === before) return
    this.#state = next
    const { lanes, clock, observe, mayBegin } = this.#parts
    lanes.allowance = next.is === 'closed' ? allowance(next) : 0
    if (next.is === 'holding' && !this.#isOver) {
      const retryInMs = trialDelayMs(next.trials)
      this.#trialAt = clock.monotonic() + retryInMs
      this.#cancel = clock.after(retryInMs, () => this.#due())
      if (!isHolding(before)) {
        this.#since = clock.monotonic()
        observe({ type: 'holding', failures: this.#limit, last: this.#last, retryInMs })
      }
    }
    if (next !== AT_EASE) return
    this.#cancel?.()
    this.#cancel = undefined
    this.#last = []
    if (isHolding(before)) {
      const heldMs = clock.monotonic() - this.#since
      observe({ type: 'hold-over', heldMs, because: event === 'resumed' ? 'resumed' : 'handled' })
    }
    if (before.is !== 'closed') mayBegin()
  }

  #due(): void {
    this.#cancel = undefined
    this.#move('due')
    this.#look()
  }
}

/** `undefined`: it proves neither, or was told before it ended. */
function eventOf(ending: Ending): BreakerEvent | undefined {
  switch (ending.end) {
    case 'handled':
      return 'succeeded'
    case 'retry':
      return ending.why === 'failed' ? 'attempt-failed' : undefined
    case 'rerun':
      return ending.delayMs === undefined ? undefined : 'attempt-failed'
    case 'set-aside':
    case 'dead-letter':
    case 'duplicate':
    case 'wait':
    case 'rewind':
    case 'dropped':
      return undefined
  }
}

/** A record that a claim found decides about an earlier delivery, except where this delivery caused it. */
export function isOfThisDelivery({ story, reason }: FoundAside): boolean {
  return story === undefined || reason === 'behind-sequence'
}

function seconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1_000) * 1_000)
}

function told({ reason, detail, destination, position }: FailureTold): string {
  return `${reason} at ${destination} ${position}${detail === '' ? '' : ` (${detail})`}`
}
