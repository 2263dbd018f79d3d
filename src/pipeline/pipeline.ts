import { durationText } from '../core/duration-text.ts'
import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { StoppedError } from '../foundation/errors.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { Pausable, PauseOptions } from '../ports/lifecycle.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Health } from '../ports/health.ts'
import type { Counts, StoreOperation } from '../ports/observer.ts'
import type { Stall, Work } from '../core/progress.ts'
import type { Capacity, Delivery, Intake, Publisher, Source, SourceEvent } from '../ports/source.ts'
import { scopeName } from '../consumer/scope.ts'
import { CarryOut } from './settling/carry-out.ts'
import { Copies } from './settling/copies.ts'
import { DROPPED, type Ending } from './ending.ts'
import { Decoding } from './handling/decoding.ts'
import type { RunItem } from './handling/handler-run.ts'
import { Arrivals } from './arrivals.ts'
import { Hold } from './hold.ts'
import { createIdentify } from './intake/identify.ts'
import type { Batching } from './batching/batching.ts'
import { batchingOf } from './batching/batching-of.ts'
import type { Apart } from './batching/doubt-queue.ts'
import { capacityOf } from './capacity.ts'
import { Lanes } from './intake/lanes.ts'
import { Limiter } from './limit/limiter.ts'
import { PutOffs } from './limit/put-offs.ts'
import type { Load } from './load.ts'
import { Telling, type Tell } from './telemetry/observe.ts'
import { Purger } from './store/purger.ts'
import type { Services } from './services.ts'
import { SingleFlight } from './intake/single-flight.ts'
import { StallWatch, workOf } from './stall-watch.ts'
import { StoreAbsence, type Member } from './store/absence.ts'
import { StoreCheck } from './store/store-check.ts'
import { StoreClient } from './store/store-client.ts'
import { storedPositionsIn } from './store/stored-positions.ts'
import { Deadlines } from '../execution/deadlines.ts'
import { StoreLine, type OnCall } from '../execution/store-line.ts'
import type { Lane, Task } from './task.ts'
import { Traces } from './handling/traces.ts'

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
  /** See `Source.unfetched`. */
  readonly unfetched?: () => Iterable<Work>
  /** Leaves its group or queue while the store is down for long. `undefined`: it stays. */
  readonly member?: Member | undefined
}

/**
 * The way of a message: identify, claim, handle, mark, settle. Deliveries enter through `deliver()`, and each ends with
 * exactly one outcome. Two messages of one key never run at once (single flight), and neither do two of one lane.
 */
export class Pipeline implements Intake, Services {
  readonly consumer: ResolvedConsumer
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: Tell
  readonly traces: Traces | undefined
  readonly lanes: Lanes
  readonly hold: Hold
  readonly limiter: Limiter | undefined
  readonly putOffs: PutOffs
  readonly line: StoreLine
  readonly store: StoreClient
  readonly decoding: Decoding
  readonly deadlines: Deadlines<RunItem>
  readonly capacity: Capacity
  /** Started by the caller that opens the store. */
  readonly purger: Purger
  readonly storeCheck: StoreCheck
  readonly storedPositions: Intake['storedPositions']
  readonly #scope: string
  readonly #group: string
  readonly #telling: Telling
  readonly #copies: Copies
  readonly #carryOut: CarryOut
  readonly #setPaused: (paused: boolean) => void
  readonly #batching: Batching
  readonly #flights: SingleFlight
  readonly #isBoundBySource: boolean
  readonly #arrivals: Arrivals
  readonly #stallWatch: StallWatch
  readonly #unfetched: () => Iterable<Work>
  readonly #absence: StoreAbsence | undefined
  #inFlight = 0
  #isFull = false
  #isDraining = false
  #idle: (() => void) | undefined

  constructor(dependencies: PipelineDependencies) {
    const { consumer, group, publisher, clock, entropy, setPaused, isBoundBySource = false } = dependencies
    const { store } = consumer
    const scope = scopeName(consumer, group)
    this.#scope = scope
    this.#group = group
    this.consumer = consumer
    // In mode `observe` each delivery runs: none joins another.
    this.#flights = new SingleFlight((task) => this.lanes.unblock(task), consumer.mode !== 'observe')
    this.capacity = capacityOf(consumer)
    this.storedPositions = storedPositionsIn(store, scope, (call) => this.line.watch('positions', call))
    this.#isBoundBySource = isBoundBySource
    this.clock = clock
    this.entropy = entropy
    this.#telling = new Telling(consumer, clock)
    const { observe } = this.#telling
    this.observe = observe
    const traced = { name: consumer.name, group, scope, strategy: store.strategy }
    this.traces = consumer.trace && new Traces(consumer.trace, traced, clock)
    this.#setPaused = setPaused
    this.deadlines = new Deadlines(this)
    this.decoding = new Decoding(this)
    this.#copies = new Copies({
      consumer: consumer.name,
      group,
      publisher,
      busyWaitMs: consumer.busyWaitMs,
      clock,
      entropy,
      observe,
    })
    const wake = (): void => this.#batching.wake()
    this.putOffs = new PutOffs(consumer.maxRetryLater)
    const wasPutOff = (task: Task): boolean => this.putOffs.wasPutOff(task)
    this.limiter = consumer.limit && new Limiter({ limit: consumer.limit, clock, entropy, observe, wake, wasPutOff })
    this.lanes = new Lanes(clock, wake, this.limiter)
    this.hold = new Hold({
      consumer,
      clock,
      observe,
      lanes: this.lanes,
      isAnyRunning: () => this.#arrivals.areAny || this.#flights.isAnyRunning,
      mayBegin: () => {
        this.#batching.wake()
        this.#arrivals.goOn()
      },
    })
    this.#arrivals = new Arrivals(this, {
      identify: createIdentify(consumer, group),
      identified: (delivery, found) => this.#batching.identified(delivery, found),
      isEnough: () => !isBoundBySource && this.#inFlight - this.#arrivals.waiting >= consumer.maxInFlight,
      begin: (task, delivery) => this.#begin(task, delivery),
      drop: (task) => this.end(task, DROPPED),
      handBack: (delivery) => this.#carryOut.handBack(delivery),
      deadLetter: (delivery, why) => void this.#carryOut.deadLetter(delivery, why),
    })
    // A consumer that may run without its store needs nobody to take over.
    const mayLeave = consumer.onStoreDown === 'pause' && consumer.mode === 'enforce'
    const { member } = dependencies
    this.#absence = member !== undefined && mayLeave ? new StoreAbsence(clock, member) : undefined
    const onCall: OnCall = (...call) => this.#storeCalled(...call)
    this.line = new StoreLine(clock, entropy, {
      onReachable: (listener) => store.onReachable?.(listener),
      onDown: (error) => {
        observe({ type: 'store-down', error, ...(consumer.onStoreDown === 'pause' ? {} : { runsOn: true }) })
        this.#applyPause()
        this.#absence?.storeDown()
        // What waits for the store may go on without it.
        if (consumer.onStoreDown !== 'pause') this.#batching.wake()
      },
      onCall,
      onUp: () => {
        observe({ type: 'store-up' })
        this.#applyPause()
        this.#absence?.storeUp()
        this.#batching.wake()
      },
    })
    this.store = new StoreClient(this, scope, this.line, onCall)
    this.storeCheck = new StoreCheck(clock, this.line, { store, scope })
    this.#carryOut = new CarryOut(this, this.#flights, this.#copies, {
      rewind: (stream) => dependencies.rewind?.(stream),
      arriveAgain: (delivery) => this.#arrivals.addAgain(delivery),
      onEnded: () => this.#deliveryEnded(),
    })
    this.purger = new Purger(this, scope)
    this.#unfetched = dependencies.unfetched ?? (() => [])
    this.#stallWatch = new StallWatch(this, () => this.#work())
    this.#batching = batchingOf(this, scope)
  }

  get isHeard(): boolean {
    return this.#telling.isHeard
  }

  get isEachHeard(): boolean {
    return this.#telling.isEachHeard
  }

  get counts(): Counts {
    return this.#telling.counts
  }

  get isPaused(): boolean {
    return this.lanes.isHeld
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  get isTurnOver(): boolean {
    return this.#arrivals.isTurnOver
  }

  /** What is under way. */
  get load(): Load {
    const now = this.clock.monotonic()
    const ageOf = (task: Task | undefined): DurationMs => (task === undefined ? 0 : now - task.arrival.at)
    const load: Load = {
      inFlight: this.#inFlight,
      claimed: this.#batching.claimed,
      slots: this.capacity.claims,
      oldestUnfinishedMs: ageOf(this.#flights.oldest),
    }
    const { limiter } = this
    return limiter === undefined ? load : { ...load, limited: limiter.waiting, oldestLimitedMs: ageOf(limiter.oldest) }
  }

  get settledWithoutRun(): number {
    return this.#carryOut.settledWithoutRun
  }

  get stuck(): number {
    return this.#batching.stuck
  }

  /** The group that runs apart from all others, which wait for it. */
  get apart(): Apart | undefined {
    return this.#batching.apart
  }

  /** Partitions and queues in which nobody makes progress. */
  get stalls(): readonly Stall[] {
    return this.#stallWatch.stalls
  }

  get isBroken(): boolean {
    return this.#carryOut.isBroken
  }

  /** To be called once, before anything else is told. */
  started(
    health: () => Health,
    from: { readonly control?: Pausable; readonly backlog?: Source['backlog'] } = {},
  ): void {
    const { store, retentionMs, leaseMs } = this.consumer
    this.observe({
      type: 'started',
      group: this.#group,
      scope: this.#scope,
      store,
      retentionMs,
      leaseMs,
      health,
      checkStore: (isDoubtful) => this.storeCheck.look(isDoubtful),
      ...from,
    })
  }

  /** What runs goes on, and nothing else begins. */
  pause(why: PauseOptions): void {
    if (this.isPaused) return
    this.lanes.isHeld = true
    this.#applyPause()
    this.observe({ type: 'paused', ...why })
  }

  /** Also ends a hold. */
  resume(why: PauseOptions): void {
    if (!this.isPaused && !this.hold.isHolding) return
    this.lanes.isHeld = false
    this.#applyPause()
    this.observe({ type: 'resumed', ...why })
    this.hold.resumed()
    this.#batching.resumed()
  }

  stopped(): void {
    this.observe({ type: 'stopped' })
  }

  deliver(deliveries: readonly Delivery[]): void {
    if (this.traces === undefined) this.#deliver(deliveries)
    else this.traces.arriving(deliveries, () => this.#deliver(deliveries))
  }

  #deliver(deliveries: readonly Delivery[]): void {
    this.#inFlight += deliveries.length
    this.#arrivals.add(deliveries)
    this.#applyPause()
    this.#stallWatch.wake()
  }

  standingChanged(): void {
    this.purger.postpone()
    // Stale tasks too, all before new arrivals: otherwise a late copy would join a task behind one that came after it
    // in its lane.
    this.#arrivals.handBack(this.lanes.removeQueued((queued) => !queued.isCurrent))
    this.#arrivals.standingChanged()
    this.#batching.deliveriesLost()
  }

  /**
   * Ends all work: nothing new is claimed, and running handlers go on until the deadline. Then they are aborted and get
   * `graceMs`. What is still unknown after that is delivered again.
   */
  async drain(deadlineMs: DurationMs): Promise<void> {
    const until = this.clock.monotonic() + deadlineMs
    this.#isDraining = true
    this.hold.stop()
    this.#absence?.stop()
    this.purger.stop()
    this.storeCheck.stop()
    this.#stallWatch.stop()
    this.decoding.stop()
    this.limiter?.stop()
    this.#batching.drain()
    this.#arrivals.handBack(this.lanes.removeQueued(() => true))
    this.#arrivals.drain()
    const over = new Promise<void>((resolve) => {
      this.#idle = resolve
      if (this.#inFlight === 0) resolve()
    })
    const cancelDeadline = this.clock.after(deadlineMs, () =>
      this.#batching.interrupt(new StoppedError(`still running ${durationText(deadlineMs)} after stop()`)),
    )
    const cancelAbandon = this.clock.after(deadlineMs + this.consumer.graceMs, () => {
      this.#leave()
      this.#idle?.()
    })
    await over
    await this.#batching.written()
    cancelDeadline()
    cancelAbandon()
    if (!this.store.isDown) await this.purger.last(until - this.clock.monotonic())
    this.#leave()
  }

  report(event: SourceEvent): void {
    // It belongs to the source.
    this.observe({ ...event })
  }

  end(task: Task, ending: Ending): void {
    this.#carryOut.end(task, ending)
  }

  endTogether<T>(work: () => T): T {
    return this.#carryOut.together(work)
  }

  retryDelayMs(attempts: number): DurationMs | undefined {
    return this.#copies.retryDelayMs(attempts)
  }

  waitsElsewhere(forMs: DurationMs): boolean {
    return this.#copies.waitsElsewhere(forMs)
  }

  #begin(task: Task, delivery: Delivery): void {
    if (!this.#flights.begin(task, delivery)) return
    if (this.#isDraining) this.end(task, DROPPED)
    else this.lanes.enqueue(task)
  }

  *#work(): Iterable<Work> {
    yield* this.#unfetched()
    const waiting = this.limiter?.waitingOnes()
    for (const task of this.#flights.all()) {
      if (!this.#waitsForTime(task, waiting)) yield workOf(task, task.message, task.history.attempts)
    }
    for (const delivery of this.#carryOut.unclaimed) yield workOf(delivery, delivery.message, 0)
  }

  /** For a permit, or until a provider's `Retry-After` is over: itself, or the head of its lane. */
  #waitsForTime(task: Task, waiting: ReadonlySet<Lane | Task> | undefined): boolean {
    if (waiting?.has(task.queuedIn ?? task) === true) return true
    if (!this.putOffs.areAny) return false
    return this.putOffs.isWaiting(task.queuedIn?.queue[0] ?? task, this.clock.monotonic())
  }

  #storeCalled(operation: StoreOperation, count: number, sentAt: MonotonicMs, error?: unknown): void {
    if (error === undefined) this.storeCheck.answered(sentAt)
    if (!this.isHeard) return
    const durationMs = this.clock.monotonic() - sentAt
    this.counts.called(operation, count, durationMs, error)
    if (this.isEachHeard) this.observe({ type: 'store-call', operation, count, durationMs, error })
  }

  /** Stops all waiting, and leaves no timer. */
  #leave(): void {
    this.line.abandon()
    this.#copies.end()
    this.#batching.abandon()
    this.#carryOut.leave()
    this.#arrivals.leave()
    this.#telling.end()
  }

  #deliveryEnded(): void {
    this.#inFlight--
    if (this.#arrivals.waiting > 0) this.#arrivals.goOn()
    this.#applyPause()
    if (this.#inFlight === 0) this.#idle?.()
  }

  #applyPause(): void {
    const { maxInFlight } = this.consumer
    if (!this.#isBoundBySource) {
      if (this.#inFlight >= maxInFlight) this.#isFull = true
      else if (this.#inFlight <= maxInFlight / 2) this.#isFull = false
    }
    const isDown = this.line.isDown && this.consumer.onStoreDown === 'pause'
    this.#setPaused(this.isPaused || this.#isFull || isDown)
  }
}
