import type { Reason, Result } from '../core/record.ts'
import { isFailure } from '../core/result.ts'
import { horizonOf } from '../core/retention.ts'
import type { DurationMs } from '../core/units.ts'
import { DEFAULTS } from '../defaults.ts'
import { InvariantError, StoppedError } from '../errors.ts'
import type { ResolvedConsumer } from '../resolve-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { HandedBack, Observer, ObserverEvent, Outcome } from '../ports/observer.ts'
import type { Capacity, Delivery, Intake, Publisher, SourceEvent } from '../ports/source.ts'
import type { Claim, ClaimAnswer, Positions } from '../ports/store.ts'
import { scopeName } from '../scope.ts'
import { causeOf, toldOfCause } from './cause.ts'
import { Copies } from './copies.ts'
import { Evidence } from './evidence.ts'
import { Fifo } from './fifo.ts'
import { Flights } from './flights.ts'
import { createIdentify } from './identify.ts'
import { InboxRunner } from './inbox-runner.ts'
import { Lanes } from './lanes.ts'
import { LeaseRunner } from './lease-runner.ts'
import { Telling } from './observe.ts'
import { Purger } from './purger.ts'
import { redactedDetail } from './redact.ts'
import { openKept } from './remember.ts'
import type { ClaimBatch, DeadLettering, Desk, Postponing, Runner, SettingAside } from './runner.ts'
import { Slices } from './slices.ts'
import { faultOfSetAside, faultsOfClaims } from './store-answers.ts'
import { StoreLine } from './store-line.ts'
import { Task } from './task.ts'

/** How often a claim is repeated while another owner is busy. The claim may end long before its lease. */
const BUSY_POLL_MS = 1_000
const BUSY_JITTER_MS = 100
const LEAST_JITTER_MS = 5

export interface PipelineDependencies {
  readonly consumer: ResolvedConsumer
  readonly group: string
  readonly publisher: Publisher
  readonly clock: Clock
  readonly entropy: Entropy
  /** The source limits its partitions itself: it pauses one partition, not all. */
  readonly isBoundBySource?: boolean
  /** Asks the source to pause or to resume. */
  readonly setPaused: (paused: boolean) => void
  /** Asks the source to read a stream again from its stored position. */
  readonly rewind?: (stream: string) => void
}

/**
 * The way of a message: identify, claim, handle, mark, settle. Deliveries enter through `deliver()`, and each ends with
 * exactly one outcome. Two messages of one key never run at once (single flight), and neither do two of one lane.
 */
export class Pipeline implements Intake, Desk {
  readonly consumer: ResolvedConsumer
  readonly scope: string
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: Observer
  readonly lanes: Lanes
  readonly line: StoreLine
  readonly capacity: Capacity
  /** Started by the caller that opens the store. */
  readonly purger: Purger
  readonly storedPositions: Intake['storedPositions']
  readonly #positions: Positions | undefined
  readonly #telling: Telling
  readonly #copies: Copies
  readonly #setPaused: (paused: boolean) => void
  readonly #rewind: (stream: string) => void
  readonly #identify: ReturnType<typeof createIdentify>
  readonly #runner: Runner
  readonly #flights = new Flights((task) => this.lanes.unblock(task))
  /** Deliveries without a task, on their way to the dead-letter place, with the reason. */
  readonly #unclaimed = new Map<Delivery, Reason>()
  readonly #isBoundBySource: boolean
  /** Taken from the source, not yet identified. */
  readonly #arrivals = new Fifo<Delivery>()
  /** Tasks and deliveries to hand back, from the lanes or not yet identified. */
  readonly #leaving = new Fifo<Iterator<Task | Delivery>>()
  readonly #slices: Slices
  #inFlight = 0
  #settledWithoutRun = 0
  #isFull = false
  #isDraining = false
  #isBroken = false
  #idle: (() => void) | undefined

  constructor(dependencies: PipelineDependencies) {
    const { consumer, group, publisher, clock, entropy, setPaused, rewind, isBoundBySource = false } = dependencies
    this.consumer = consumer
    this.scope = scopeName(consumer, group)
    this.capacity = capacityOf(consumer)
    this.#positions = consumer.store.strategy === 'offsets' ? consumer.store.positions : undefined
    const positions = this.#positions
    this.storedPositions = positions && {
      next: (streams) => positions.next(this.scope, streams),
      hold: (stream, next, why) => positions.hold(this.scope, { stream, next }, why),
      prove: (stream, next) => positions.prove(this.scope, { stream, next }),
    }
    this.#isBoundBySource = isBoundBySource
    this.clock = clock
    this.entropy = entropy
    this.#telling = new Telling(consumer, clock)
    this.observe = this.#telling.observe
    this.#setPaused = setPaused
    this.#rewind = rewind ?? (() => {})
    this.#identify = createIdentify(consumer, group)
    this.#slices = new Slices(clock, () => this.#handBackNext() || this.#acceptNext())
    const { observe } = this
    this.#copies = new Copies({ consumer: consumer.name, group, publisher, clock, entropy, observe })
    this.lanes = new Lanes(clock, () => this.#runner.wake())
    const { store } = consumer
    this.line = new StoreLine(clock, entropy, {
      onReachable: (listener) => store.onReachable?.(listener),
      onDown: (error) => {
        this.observe({ type: 'store-down', error })
        this.#applyPause()
      },
      onUp: () => {
        this.observe({ type: 'store-up' })
        this.#applyPause()
        this.#runner.wake()
      },
    })
    this.purger = new Purger(this)
    this.#runner = store.strategy === 'lease' ? new LeaseRunner(this, store) : new InboxRunner(this)
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Deliveries taken and not yet ended. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Deliveries since the start that were settled without a run of the handler. */
  get settledWithoutRun(): number {
    return this.#settledWithoutRun
  }

  get stuck(): number {
    return this.#runner.stuck
  }

  /** Nothing has begun for longer than the usual quiet time, because a last attempt runs beside nothing. */
  get isHeldUp(): boolean {
    return (this.#runner.apart?.sinceMs ?? 0) > 2 * DEFAULTS.quietMs
  }

  /** The text of `health().checks.handlers`. */
  get handlersCheck(): string {
    const { stuck, apart } = this.#runner
    if (stuck > 0) return `${stuck} stuck`
    const running = `${this.#inFlight} in flight`
    if (apart === undefined) return running
    return `${running}, ${apart.count} run apart and hold up the rest for ${Math.round(apart.sinceMs / 1000)} s`
  }

  /** A settle without evidence was refused. Its message may come again only after this process has ended. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.#inFlight += deliveries.length
    for (const delivery of deliveries) this.#arrivals.push(delivery)
    this.#slices.run()
    this.#applyPause()
  }

  standingChanged(): void {
    this.purger.postpone()
    // Stale tasks too, all before new arrivals: otherwise a late copy would join a task behind one that came after it
    // in its lane.
    this.#handBack(this.lanes.removeQueued((queued) => !queued.isCurrent))
    this.#runner.deliveriesLost()
  }

  /**
   * Ends all work: nothing new is claimed, and running handlers go on until the deadline. Then they are aborted and get
   * `graceMs`. What is still unknown after that is delivered again.
   */
  async drain(deadlineMs: DurationMs): Promise<void> {
    this.#isDraining = true
    this.purger.stop()
    this.#runner.drain()
    this.#handBack(this.lanes.removeQueued(() => true))
    this.#handBack(this.#arrivals.remove(() => true).values())
    const over = new Promise<void>((resolve) => {
      this.#idle = resolve
      if (this.#inFlight === 0) resolve()
    })
    const cancelDeadline = this.clock.after(deadlineMs, () =>
      this.#runner.interrupt(new StoppedError(`still running ${deadlineMs} ms after stop()`)),
    )
    const cancelAbandon = this.clock.after(deadlineMs + this.consumer.graceMs, () => {
      this.#leave()
      this.#idle?.()
    })
    await over
    cancelDeadline()
    cancelAbandon()
    this.#leave()
  }

  report(event: SourceEvent): void {
    this.observe(event)
  }

  async claim(tasks: readonly Task[], alone: boolean): Promise<ClaimBatch | undefined> {
    const { store, leaseMs, retentionMs } = this.consumer
    const request = {
      scope: this.scope,
      token: this.entropy.ownerToken(),
      leaseMs,
      retentionMs,
      alone,
      items: tasks.map(({ key, digest, position }) => ({ key, digest, position })),
    }
    let sentAt = 0
    const ask = (): Promise<readonly ClaimAnswer<unknown>[]> => {
      sentAt = this.clock.monotonic()
      return store.claim(request) // mutant: mark-before-effect, settle-on-busy, swallow-given-up, done-from-error
    }
    const answers = await this.line.ask(tasks.length, ask, faultsOfClaims(request, store.strategy))
    if (answers === undefined) return undefined
    let granted = 0
    let index = 0
    for (const task of tasks) {
      const answer = answers[index++]
      if (answer?.verdict !== 'busy') task.busySince = undefined
      if (answer !== undefined && 'claim' in answer) granted++
    }
    this.observe({ type: 'claims', count: tasks.length, granted })
    // Positions are kept for ever.
    const horizon = this.#positions === undefined ? horizonOf(this.clock.now(), retentionMs) : Number.NEGATIVE_INFINITY
    return { answers, sentAt, horizon }
  }

  handled(task: Task, evidence: Evidence, { attempt, fence }: Claim, result?: Result): void {
    const told: OutcomeDetail = { key: task.key, attempt, fence }
    if (result !== undefined) Object.assign(told, this.#rememberedAs(task, result))
    this.#settle(task, evidence, 'handled', told)
  }

  duplicate(task: Task, evidence: Evidence, { reason, result }: Parameters<Desk['duplicate']>[2]): void {
    const { key } = task
    const told = result === undefined ? { key, reason } : { key, ...this.#rememberedAs(task, result) }
    this.#settle(task, evidence, 'duplicate', told)
  }

  drop(task: Task, outcome: Unsettled = 'handed-back'): void {
    this.#forget(task, outcome, outcome === 'lease-lost' ? {} : { why: this.#whyBack })
  }

  putBack(tasks: readonly Task[], delayMs?: DurationMs): void {
    const wanted: Task[] = []
    for (const task of tasks) {
      if (this.#isDraining || !task.isCurrent) this.drop(task)
      else wanted.push(task)
    }
    this.lanes.putBack(wanted, delayMs)
  }

  awaitOwner(task: Task, leaseLeftMs: DurationMs): void {
    const now = this.clock.monotonic()
    task.busySince ??= now
    const leftMs = task.busySince + this.#copies.busyWaitMs - now
    // A short wait gets little jitter: for example a backoff that a timer missed by a millisecond.
    const jitterMs = Math.ceil(this.entropy.fraction() * Math.min(BUSY_JITTER_MS, leaseLeftMs + LEAST_JITTER_MS))
    if (leftMs <= 0) {
      void this.retryLater(task, { why: 'busy', attempts: 0, delayMs: leaseLeftMs + jitterMs })
    } else {
      this.putBack([task], Math.min(Math.min(leaseLeftMs, BUSY_POLL_MS) + jitterMs, Math.ceil(leftMs)))
    }
  }

  rewind(task: Task): void {
    const { position, isCurrent } = task
    this.#forget(task, 'handed-back', { why: this.#isDraining ? 'stop' : isCurrent ? 'rewound' : 'moved' })
    // If many tasks are found behind, the first rewind ends the epoch of the others.
    if (position !== undefined && isCurrent && !this.#isDraining) this.#rewind(position.stream)
  }

  deadLetter(task: Task, how: DeadLettering): Promise<void> {
    return this.#sendLetter(task, { ...how, detail: redactedDetail(how, task.message) })
  }

  async #sendLetter(task: Task, why: DeadLettering): Promise<void> {
    const { messageToSettle, firstFailureAt } = task
    const evidence = await this.#copies.deadLetter(messageToSettle, { ...why, firstFailureAt }, task.key)
    if (evidence === undefined) return this.drop(task)
    await this.#pass(task)
    this.#settle(task, evidence, why.parked ? 'parked' : 'dead-lettered', { key: task.key, ...toldOf(why) })
  }

  deadLetterAgain(task: Task, { parked, reason, detail, story }: FoundAside): Promise<void> {
    if (story === undefined) return this.#sendLetter(task, { parked, reason, detail })
    const { attempt: attempts = 0, since, cause } = story
    task.firstFailureAt ??= since
    // The text of a record was redacted before it was written.
    const told = cause === undefined ? { detail } : toldOfCause(cause)
    return this.#sendLetter(task, { parked, reason, ...told, attempts, setAsideAt: since, isRepeated: true })
  }

  retryDelayMs(attempts: number): DurationMs | undefined {
    return this.#copies.retryDelayMs(attempts)
  }

  async retryLater(task: Task, how: Postponing): Promise<void> {
    if (this.#isDraining || !task.isCurrent) return this.drop(task)
    const evidence = await this.#copies.retryLater(task, how)
    if (evidence === undefined) return this.drop(task)
    if (how.why === 'failed') this.#settlePostponed(task, evidence, 'failed')
    else this.#settlePostponed(task, evidence, 'handed-back', { why: 'busy', copied: true })
  }

  async setAside(task: Task, claim: Claim, as: 'given-up' | 'parked', why: SettingAside): Promise<void> {
    const { store } = this.consumer
    const { reason, attempts } = why
    const setAsideAt = this.clock.now()
    const how = { reason, refund: attempts < claim.attempt, cause: causeOf(why, task.message) }
    const verdicts = await this.line.ask(1, () => store.setAside([claim], as, how), faultOfSetAside)
    const verdict = verdicts?.[0]
    if (verdict === undefined) return this.drop(task)
    if (verdict === 'refused') return this.putBack([task])
    void this.deadLetter(task, { ...why, parked: verdict === 'parked', setAsideAt })
  }

  /**
   * Strategy `offsets`: a dead-lettered message is over. If the store does not learn this, the message is only
   * dead-lettered once more.
   */
  async #pass({ position }: Task): Promise<void> {
    const positions = this.#positions
    if (positions === undefined || position === undefined) return
    await this.line.ask(
      1,
      async () => [await positions.pass(this.scope, position)],
      () => undefined,
    )
  }

  #handBack(leaving: Iterator<Task | Delivery>): void {
    this.#leaving.push(leaving)
    this.#slices.run()
  }

  #handBackNext(): boolean {
    const first = this.#leaving.first
    if (first === undefined) return false
    const { value: next, done = false } = first.next()
    if (done) this.#leaving.shift()
    else if (next instanceof Task) this.drop(next)
    else this.#giveBack(next, 'handed-back', { why: this.#whyBack })
    return true
  }

  /**
   * Accepts nothing while tasks are being handed back: a copy could join one of them and be handed back with it, or run
   * before earlier messages.
   */
  #acceptNext(): boolean {
    if (this.#isLookingAtEnough) return false
    const next = this.#arrivals.shift()
    if (next === undefined) return false
    if (next.standing() === 'current') this.#accept(next)
    else this.#giveBack(next, 'handed-back', { why: this.#whyBack })
    return true
  }

  get #isLookingAtEnough(): boolean {
    return !this.#isBoundBySource && this.#inFlight - this.#arrivals.length >= this.consumer.maxInFlight
  }

  #accept(delivery: Delivery): void {
    const identified = this.#identify(delivery) // mutant: ack-first
    if (!(identified instanceof Task)) {
      if (this.#isDraining) return this.#giveBack(delivery, 'handed-back', { why: 'stop' })
      return void this.#deadLetterAlone(delivery, { ...identified, parked: false })
    }
    if (!this.#flights.begin(identified, delivery)) return
    if (this.#isDraining) this.drop(identified)
    else this.lanes.enqueue(identified)
  }

  /** A delivery without a task, because it has no usable ID. */
  async #deadLetterAlone(delivery: Delivery, how: DeadLettering): Promise<void> {
    const why = { ...how, detail: redactedDetail(how, delivery.message) }
    this.#unclaimed.set(delivery, why.reason)
    const evidence = await this.#copies.deadLetter(delivery.message, why, undefined)
    if (!this.#unclaimed.delete(delivery)) return
    if (evidence !== undefined) this.#end(delivery, evidence, 'dead-lettered', toldOf(why))
    else this.#giveBack(delivery, 'handed-back', { why: 'stop', reason: why.reason })
  }

  /**
   * The copy is published and may have joined the task already. Only deliveries from the same place as the original are
   * settled with it; any other starts a new task.
   */
  #settlePostponed(task: Task, evidence: Evidence, outcome: 'failed' | 'handed-back', detail?: OutcomeDetail): void {
    if (!this.#endFlight(task)) return
    const { first } = task
    const { destination, position } = first.message
    this.#end(first, evidence, outcome, { key: task.key, ...detail })
    for (const delivery of task.joined) {
      const { message } = delivery
      if (message.destination === destination && message.position === position) {
        this.#end(delivery, evidence, 'joined', { key: task.key, endedAs: outcome })
      } else {
        this.#arrivals.push(delivery)
      }
    }
    if (this.#arrivals.length > 0) this.#slices.later()
  }

  #settle(task: Task, evidence: Evidence, outcome: Exclude<Settled, 'joined'>, detail: OutcomeDetail): void {
    if (!this.#endFlight(task)) return
    this.#end(task.first, evidence, outcome, detail)
    for (const delivery of task.joined) this.#end(delivery, evidence, 'joined', { key: task.key, endedAs: outcome })
  }

  get #whyBack(): HandedBack {
    return this.#isDraining ? 'stop' : 'moved'
  }

  /** Ends all deliveries of a task without a settle. */
  #forget(task: Task, outcome: Unsettled, detail: OutcomeDetail): void {
    if (!this.#endFlight(task)) return
    for (const delivery of [task.first, ...task.joined]) this.#giveBack(delivery, outcome, { key: task.key, ...detail })
  }

  /** Once for each task. A handler that still runs after its task was dropped at the stop deadline ends nothing. */
  #endFlight(task: Task): boolean {
    if (!this.#flights.end(task)) return false
    this.lanes.finish(task)
    return true
  }

  /** Stops all waiting, and leaves no timer. */
  #leave(): void {
    this.line.abandon()
    this.#copies.end()
    this.#runner.abandon()
    for (const task of this.#flights.all()) this.drop(task)
    while (this.#handBackNext());
    for (const delivery of this.#arrivals.remove(() => true)) this.#giveBack(delivery, 'handed-back', { why: 'stop' })
    for (const [delivery, reason] of this.#unclaimed) {
      this.#unclaimed.delete(delivery)
      this.#giveBack(delivery, 'handed-back', { why: 'stop', reason })
    }
    this.#telling.end()
  }

  #rememberedAs(task: Task, kept: Result): OutcomeDetail {
    const result = openKept(kept, task.key, this)
    return isFailure(result) ? { result, failure: true } : { result }
  }

  /** The only place that settles. */
  #end(delivery: Delivery, evidence: Evidence, outcome: Settled, detail: OutcomeDetail): void {
    if (!Evidence.is(evidence)) return this.#refuseSettle(delivery, outcome, detail)
    if (delivery.settle()) this.#ended(delivery, outcome, detail)
    else this.#ended(delivery, 'settle-refused', { refused: outcome, ...detail })
  }

  #refuseSettle(delivery: Delivery, outcome: Settled, { key }: OutcomeDetail): void {
    this.#isBroken = true
    const error = new InvariantError('pipeline.end', `to be settled as ${outcome} without mark, done or confirmed copy`)
    this.observe({ type: 'invariant-broken', error })
    this.#giveBack(delivery, 'handed-back', { key, why: 'broken' })
  }

  /** After `lease-lost` the delivery is not ours, so there is nothing to hand back. */
  #giveBack(delivery: Delivery, outcome: Unsettled, detail: OutcomeDetail): void {
    if (outcome === 'handed-back') delivery.handBack?.()
    this.#ended(delivery, outcome, detail)
  }

  #ended({ message }: Delivery, outcome: Outcome, detail: OutcomeDetail): void {
    if (isWithoutRun(outcome, detail)) this.#settledWithoutRun++
    this.observe({ type: 'delivery', message, outcome, ...detail })
    this.#inFlight--
    if (this.#arrivals.length > 0) this.#slices.later()
    this.#applyPause()
    if (this.#inFlight === 0) this.#idle?.()
  }

  #applyPause(): void {
    const { maxInFlight } = this.consumer
    if (!this.#isBoundBySource) {
      if (this.#inFlight >= maxInFlight) this.#isFull = true
      else if (this.#inFlight <= maxInFlight / 2) this.#isFull = false
    }
    this.#setPaused(this.#isFull || this.line.isDown)
  }
}

type FoundAside = Parameters<Desk['deadLetterAgain']>[1]
type DeliveryEvent = Extract<ObserverEvent, { type: 'delivery' }>
type OutcomeDetail = Partial<Omit<DeliveryEvent, 'type' | 'message' | 'outcome'>>

type Unsettled = 'handed-back' | 'lease-lost'
type Settled = Exclude<Outcome, 'settle-refused' | 'lease-lost'>

/** Settled because the message is done, or was handled for another delivery of it. */
function isWithoutRun(outcome: Outcome, { endedAs }: OutcomeDetail): boolean {
  return outcome === 'duplicate' || (outcome === 'joined' && (endedAs === 'handled' || endedAs === 'duplicate'))
}

/** The fields of a dead letter for the observer. */
function toldOf({ reason, detail, error, attempts, setAsideAt }: DeadLettering): OutcomeDetail {
  return { reason, detail, error, attempt: attempts, since: setAsideAt }
}

function capacityOf(consumer: ResolvedConsumer): Capacity {
  const { store, concurrency, transactions, batchSize, handleBatch } = consumer
  const isLease = store.strategy === 'lease'
  const slots = handleBatch === undefined ? concurrency : Math.ceil(concurrency / batchSize)
  return {
    maxInFlight: consumer.maxInFlight,
    handlers: isLease ? slots : transactions,
    claims: isLease ? concurrency : transactions * batchSize,
    leaseMs: consumer.leaseMs,
    longestRunMs: consumer.handlerTimeoutMs + consumer.graceMs,
  }
}
