import type { Key, Reason, Result } from '../../core/record.ts'
import { isFailure, keptIn } from '../../core/result.ts'
import type { DurationMs, EpochMs, MonotonicMs } from '../../core/units.ts'
import { InvariantError } from '../../foundation/errors.ts'
import type { Message } from '../../ports/message.ts'
import type { PipelineEvent } from '../../ports/observer.ts'
import { isDone, type HandedBack, type Outcome } from '../../ports/outcome.ts'
import type { Delivery, DeliveryEnd } from '../../ports/source.ts'
import type { DeliveryTrace } from '../../ports/tracing.ts'
import { SETTLE, isWatched } from '../telemetry/channels.ts'
import { toldOfFound, type Copies, type DeadLettering } from './copies.ts'
import type { Ending, FoundAside } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import { isOfThisDelivery } from '../hold.ts'
import type { Unidentified } from '../intake/identify.ts'
import type { Named } from '../telemetry/observe.ts'
import { redactedDetail } from '../telemetry/redact.ts'
import { openKept } from '../../execution/kept.ts'
import type { Services } from '../services.ts'
import type { SingleFlight } from '../intake/single-flight.ts'
import type { Task } from '../task.ts'
import { inTraceOf } from '../handling/traces.ts'

/** How often a claim is repeated while another owner is busy. The claim may end long before its lease. */
const BUSY_POLL_MS = 1_000
const BUSY_JITTER_MS = 100
const LEAST_JITTER_MS = 5

interface CarryOutHooks {
  /** Asks the source to read a stream again from its stored position. */
  readonly rewind: (stream: string) => void
  /** Takes a delivery in again, which had joined a task that is over. */
  readonly arriveAgain: (delivery: Delivery) => void
  /** A delivery has ended. */
  readonly onEnded: () => void
}

/**
 * Carries endings out. Nothing else acts on the broker: here alone copies are published, and deliveries settled or
 * handed back. Each delivery ends once, with exactly one outcome.
 */
export class CarryOut {
  readonly #services: Services
  readonly #flights: SingleFlight
  readonly #copies: Copies
  readonly #hooks: CarryOutHooks
  /** Deliveries without a task, on their way to the dead-letter place, with the reason. */
  readonly #unclaimed = new Map<Delivery, Reason>()
  #settledWithoutRun = 0
  /** Set while `together` ends tasks: when that began. */
  #together: { readonly at: MonotonicMs; readonly now: EpochMs; handled: number } | undefined
  #isBroken = false

  constructor(services: Services, flights: SingleFlight, copies: Copies, hooks: CarryOutHooks) {
    this.#services = services
    this.#flights = flights
    this.#copies = copies
    this.#hooks = hooks
  }

  /** Deliveries since the start that were settled without a run of the handler. */
  get settledWithoutRun(): number {
    return this.#settledWithoutRun
  }

  /** Deliveries without a task that are not ended yet. */
  get unclaimed(): Iterable<Delivery> {
    return this.#unclaimed.keys()
  }

  /** A settle without evidence was refused. Its message may come again only after this process has ended. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Somebody wants to know how long a settle takes. */
  get #isTimed(): boolean {
    return this.#services.isHeard || this.#services.traces !== undefined
  }

  /** Does nothing if the task has ended before. */
  end(task: Task, ending: Ending): void {
    if (!task.move('ending')) return
    if (this.#isTimed) task.decision = this.#together ?? { at: this.#services.clock.monotonic() }
    this.#carryOut(task, ending)
    this.#services.hold.ended(ending, task)
  }

  /** `work` ends many tasks at once. */
  together<T>(work: () => T): T {
    const { clock, counts } = this.#services
    if (!this.#isTimed || this.#together !== undefined) return work()
    const at = clock.monotonic()
    const together = (this.#together = { at, now: clock.now(), handled: 0 })
    try {
      return work()
    } finally {
      this.#together = undefined
      if (together.handled > 0) counts.settled(clock.monotonic() - at)
    }
  }

  /** A delivery without a task, because it has no usable ID. */
  async deadLetter(delivery: Delivery, { reason, ...how }: Unidentified): Promise<void> {
    const { message } = delivery
    const why = { ...how, reason, parked: false, detail: redactedDetail(how, message) }
    this.#unclaimed.set(delivery, reason)
    const confirmed = await this.#copies.deadLetter(message, why, undefined)
    if (!this.#unclaimed.delete(delivery)) return
    if (confirmed === undefined) this.#giveBack(delivery, 'handed-back', { why: 'stop', reason })
    else this.#settle(delivery, { ...confirmed, outcome: 'dead-lettered', told: toldOf(why) })
  }

  /** A delivery that is not identified. */
  handBack(delivery: Delivery): void {
    this.#giveBack(delivery, 'handed-back', { why: this.#whyBack })
  }

  /** Ends everything that is still under way: unknown answers stay unknown. */
  leave(): void {
    for (const task of this.#flights.all()) this.#drop(task)
    for (const [delivery, reason] of this.#unclaimed) {
      this.#unclaimed.delete(delivery)
      this.#giveBack(delivery, 'handed-back', { why: 'stop', reason })
    }
  }

  #carryOut(task: Task, ending: Ending): void {
    switch (ending.end) {
      case 'handled': {
        const { evidence, claim, result } = ending
        const { key } = task
        const { attempt, fence } = claim
        // Nothing is made for each message that nobody wants to hear.
        let told: OutcomeDetail = UNHEARD
        if (this.#services.isEachHeard) told = { key, attempt, fence: fence === 0 ? undefined : fence }
        if (result !== undefined) told = { ...told, ...this.#remembered(key, result) }
        return this.#settleRan(task, evidence, told)
      }
      case 'duplicate': {
        const { evidence, reason, since, result } = ending
        const { key } = task
        let told: OutcomeDetail = reason === undefined ? { key, since } : { key, since, reason }
        if (result !== undefined) {
          const kept = this.#remembered(key, result, true)
          told = { key, since, ...('result' in kept ? {} : { reason }), ...kept }
        }
        return this.#settleAll(task, { evidence, outcome: 'duplicate', told })
      }
      case 'retry':
        return void this.#retry(task, ending)
      case 'rerun':
        return this.#rerun(task, ending.delayMs)
      case 'wait':
        return this.#wait(task, ending.leaseLeftMs)
      case 'set-aside': {
        const { parked, setAsideAt, why } = ending
        const detail = redactedDetail(why, task.message)
        return void this.#deadLetter(task, { ...why, detail, parked, setAsideAt })
      }
      case 'dead-letter':
        return this.#deadLetterFound(task, ending.found)
      case 'rewind':
        return this.#rewind(task)
      case 'dropped':
        return this.#drop(task, ending.isLeaseLost)
    }
  }

  #deadLetterFound(task: Task, found: FoundAside): void {
    if (isOfThisDelivery(found) && !this.#services.hold.admits(found, task)) return this.#rerun(task)
    void this.#deadLetter(task, toldOfFound(task, found))
  }

  /** Handled, unless its handler said that the message needs no effect. */
  #settleRan(task: Task, evidence: Evidence, told: OutcomeDetail): void {
    const { skipped, message } = task
    if (skipped === undefined) return this.#settleAll(task, { evidence, outcome: 'handled', told })
    const detail = redactedDetail({ detail: skipped, error: skipped }, message)
    return this.#settleAll(task, { evidence, outcome: 'skipped', told: { ...told, detail } })
  }

  #rerun(task: Task, delayMs?: DurationMs): void {
    if (this.#services.isDraining || !task.isCurrent) this.#drop(task)
    else {
      this.#services.traces?.again(task)
      this.#services.lanes.putBack(task, delayMs)
    }
  }

  #wait(task: Task, leaseLeftMs: DurationMs): void {
    const { clock, entropy } = this.#services
    const now = clock.monotonic()
    task.busySince ??= now
    const leftMs = task.busySince + this.#copies.busyWaitMs - now
    // A short wait gets little jitter: for example a backoff that a timer missed by a millisecond.
    const jitterMs = Math.ceil(entropy.fraction() * Math.min(BUSY_JITTER_MS, leaseLeftMs + LEAST_JITTER_MS))
    if (leftMs <= 0) {
      void this.#retry(task, { end: 'retry', why: 'busy', attempts: 0, delayMs: leaseLeftMs + jitterMs })
    } else {
      this.#rerun(task, Math.min(Math.min(leaseLeftMs, BUSY_POLL_MS) + jitterMs, Math.ceil(leftMs)))
    }
  }

  #rewind(task: Task): void {
    const { position, isCurrent } = task
    const { isDraining } = this.#services
    this.#forget(task, 'handed-back', { why: isDraining ? 'stop' : isCurrent ? 'rewound' : 'moved' })
    // If many tasks are found behind, the first rewind ends the epoch of the others.
    if (position !== undefined && isCurrent && !isDraining) this.#hooks.rewind(position.stream)
  }

  #drop(task: Task, isLeaseLost = false): void {
    if (isLeaseLost) this.#forget(task, 'lease-lost', {})
    else this.#forget(task, 'handed-back', { why: this.#whyBack })
  }

  async #deadLetter(task: Task, why: DeadLettering): Promise<void> {
    const { messageToSettle, firstFailureAt } = task
    const confirmed = await inTraceOf(task, () =>
      this.#copies.deadLetter(messageToSettle, { ...why, firstFailureAt }, task.key),
    )
    if (confirmed === undefined) return this.#drop(task)
    await this.#services.store.pass(task.position)
    const outcome = why.parked ? 'parked' : 'dead-lettered'
    this.#settleAll(task, { ...confirmed, outcome, told: { key: task.key, ...toldOf(why) } })
  }

  /**
   * The copy is published and may have joined the task already. Only deliveries from the same place as the original are
   * settled with it; any other starts a new task.
   */
  async #retry(task: Task, how: Extract<Ending, { end: 'retry' }>): Promise<void> {
    if (this.#services.isDraining || !task.isCurrent) return this.#drop(task)
    const confirmed = await inTraceOf(task, () => this.#copies.retryLater(task, how))
    if (confirmed === undefined) return this.#drop(task)
    const { key, message: original } = task
    const end: SettledEnd =
      how.why === 'failed'
        ? { ...confirmed, outcome: 'failed', told: { key } }
        : { ...confirmed, outcome: 'handed-back', told: { key, why: 'busy', copied: true } }
    this.#settleAll(
      task,
      end,
      ({ message }) => message.destination === original.destination && message.position === original.position,
    )
  }

  #settleAll(task: Task, end: SettledEnd, isSettledWithIt?: (joined: Delivery) => boolean): void {
    if (!this.#leaveFlight(task)) return
    this.#settle(task.first, end, task)
    for (const delivery of task.joined) {
      if (isSettledWithIt?.(delivery) ?? true) this.#settle(delivery, end, task)
      else this.#hooks.arriveAgain(delivery)
    }
  }

  /** Ends all deliveries of a task without a settle. */
  #forget(task: Task, outcome: Unsettled, detail: OutcomeDetail): void {
    if (!this.#leaveFlight(task)) return
    const told = { key: task.key, ...detail }
    this.#giveBack(task.first, outcome, told, task)
    for (const delivery of task.joined) this.#giveBack(delivery, outcome, told, task)
  }

  /** Once for each task. */
  #leaveFlight(task: Task): boolean {
    if (!task.move('ended')) return false
    this.#flights.end(task)
    this.#services.decoding.done(task)
    this.#services.lanes.finish(task)
    return true
  }

  get #whyBack(): HandedBack {
    return this.#services.isDraining ? 'stop' : 'moved'
  }

  #remembered(key: Key, text: Result, isDuplicate = false): OutcomeDetail {
    const { result: kept, trace } = keptIn(text)
    const first = trace !== undefined && isDuplicate ? { firstTrace: trace } : {}
    if (kept === undefined) return first
    const { consumer, observe } = this.#services
    const result = openKept(kept, key, consumer, (detail) =>
      observe({ type: 'source', event: 'result-unreadable', detail, isWarning: true }),
    )
    return isFailure(result) ? { ...first, result, failure: true } : { ...first, result }
  }

  /** The only place that settles. */
  #settle(delivery: Delivery, end: SettledEnd, task?: Task): void {
    const { key } = end.told
    if (!Evidence.is(end.evidence)) return this.#refuseSettle(delivery, end.outcome, key)
    const hasJoined = task !== undefined && task.first !== delivery
    const outcome = hasJoined ? 'joined' : end.outcome
    const told = hasJoined ? { key, endedAs: end.outcome } : end.told
    const trace = this.#services.traces?.ending({ delivery, task, outcome, told })
    if (this.#isSettled(delivery, outcome)) this.#ended(delivery, end, { outcome, told, task, trace })
    else this.#ended(delivery, end, { outcome: 'settle-refused', told: { refused: outcome, ...told }, task, trace })
  }

  #isSettled(delivery: Delivery, outcome: Outcome): boolean {
    if (!isWatched(SETTLE)) return delivery.settle()
    const about = { consumer: this.#services.consumer.name, message: delivery.message, outcome }
    return SETTLE.traceSync(() => delivery.settle(), about)
  }

  #refuseSettle(delivery: Delivery, outcome: Outcome, key: Key | undefined): void {
    this.#isBroken = true
    const error = new InvariantError('pipeline.end', `to be settled as ${outcome} without mark, done or confirmed copy`)
    this.#services.observe({ type: 'invariant-broken', error })
    this.#giveBack(delivery, 'handed-back', { key, why: 'broken' })
  }

  /** After `lease-lost` the delivery is not ours, so there is nothing to hand back. */
  #giveBack(delivery: Delivery, outcome: Unsettled, told: OutcomeDetail, task?: Task): void {
    const trace = this.#services.traces?.ending({ delivery, task, outcome, told })
    if (outcome === 'handed-back') delivery.handBack?.()
    this.#ended(delivery, { outcome, told }, { outcome, told, task, trace })
  }

  /** `end`: how its message ended. */
  #ended(delivery: Delivery, end: MessageEnd, { outcome, told, task, trace }: DeliveryEnded): void {
    if (isWithoutRun(outcome, told)) this.#settledWithoutRun++
    const { reason, result } = end.told
    delivery.onEnd?.({ outcome, endedAs: end.outcome, copy: end.copy, reason, result })
    if (trace !== undefined) this.#services.traces?.ended(trace, outcome === 'settle-refused')
    const { isHeard, isEachHeard } = this.#services
    if (isHeard && outcome === 'handled') this.#count(delivery, task)
    if (outcome === 'handled' ? isEachHeard : isHeard) this.#tell(delivery, { outcome, told, task, trace })
    this.#hooks.onEnded()
  }

  #count({ message }: Delivery, task: Task | undefined): void {
    const { clock, counts } = this.#services
    const together = this.#together
    counts.handled(message, task, endToEndOf(message, together?.now ?? clock.now()))
    if (together !== undefined) together.handled++
    else counts.settled(task?.settleMs(clock.monotonic()) ?? 0)
  }

  #tell(delivery: Delivery, { outcome, told, task, trace }: DeliveryEnded): void {
    const { clock, observe, consumer } = this.#services
    const { message } = delivery
    const endToEndMs = endToEndOf(message, this.#together?.now ?? clock.now())
    // The times of a delivery that had joined are not known.
    const durations = task?.first === delivery ? task.until(clock.monotonic()) : undefined
    const event = { type: 'delivery', consumer: consumer.name, message, outcome, durations, endToEndMs } as const
    // A spread would take longer than all else here.
    const full: DeliveryEvent & Named = Object.assign(event, told)
    observe(trace?.traceparent === undefined ? full : { ...full, trace: trace.traceparent })
  }
}

/** From the timestamp of a message, which may be of a clock that is ahead. */
function endToEndOf({ timestamp }: Message, now: EpochMs): DurationMs | undefined {
  return timestamp === undefined ? undefined : Math.max(0, now - timestamp)
}

type DeliveryEvent = Extract<PipelineEvent, { type: 'delivery' }>
type OutcomeDetail = Partial<Omit<DeliveryEvent, 'type' | 'message' | 'outcome'>>

/** The detail of an event that nobody wants to hear. */
const UNHEARD: OutcomeDetail = {}

interface DeliveryEnded {
  readonly outcome: Outcome
  readonly told: OutcomeDetail
  /** The task whose first delivery it was, or that it had joined. */
  readonly task?: Task | undefined
  readonly trace?: DeliveryTrace | undefined
}

type Unsettled = 'handed-back' | 'lease-lost'

/** How a message ended, for all its deliveries. */
interface MessageEnd extends Pick<DeliveryEnd, 'copy'> {
  readonly outcome: DeliveryEnd['endedAs']
  readonly told: OutcomeDetail
}

interface SettledEnd extends MessageEnd {
  readonly evidence: Evidence
  readonly outcome: Exclude<DeliveryEnd['endedAs'], 'lease-lost'>
}

/** Settled because the message is done, or was handled for another delivery of it. */
function isWithoutRun(outcome: Outcome, { endedAs }: OutcomeDetail): boolean {
  return outcome === 'duplicate' || (outcome === 'joined' && isDone(endedAs))
}

/** The fields of a dead letter for the observer. */
function toldOf({ reason, detail, error, attempts, setAsideAt }: DeadLettering): OutcomeDetail {
  return { reason, detail, error, attempt: attempts, since: setAsideAt }
}
