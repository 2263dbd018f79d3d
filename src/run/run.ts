import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { problemsOfFormerPlaces } from '../consumer/former-names.ts'
import { tooShort } from '../core/retention.ts'
import { describeError, hasCode } from '../foundation/errors.ts'
import type { PauseOptions, Running, Starting, StartResult, StopOptions } from '../ports/lifecycle.ts'
import { Standing } from './standing.ts'
import { Start } from './start.ts'
import { stopBy } from './stop-options.ts'
import { withoutUndefined } from '../foundation/without-undefined.ts'
import { having, needed, optionsOf, plainText, refuse, type Complete, type Table } from '../foundation/options.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import { BY, REASON } from '../people/decider.ts'
import type { Member } from '../pipeline/store/absence.ts'
import { NO_LOAD } from '../pipeline/load.ts'
import { Pipeline } from '../pipeline/pipeline.ts'
import { progressCheck } from '../pipeline/stall-watch.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { Health, LifecycleState } from '../ports/health.ts'
import type { Publisher, Source } from '../ports/source.ts'
import { hasRetryPlace, problemsOfRetryPlace } from '../consumer/when-busy.ts'

export interface RunDependencies {
  readonly source: Source
  readonly publisher: Publisher
  /** @defaultValue the system clock */
  readonly clock?: Clock
  /** @defaultValue the system source */
  readonly entropy?: Entropy
}

const RUN: Table<RunDependencies> = {
  source: needed(having('a source')),
  publisher: needed(having('a publisher')),
  clock: clockOption(),
  entropy: entropyOption(),
}

/**
 * Runs a consumer on a source. `runKafka`, `runRabbit` and custom adapters call it. It returns a handle at once; await
 * the handle, or its `ready()`, to wait until the source consumes. If `dependencies` is a function, it is called after
 * the consumer was found valid, and the start rejects with any error that it throws.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID` if `consumer` is not the result of `defineConsumer`
 * @throws (rejects) StoreError, BrokerError or ConfigError if the store or the source cannot be opened; nothing is left
 * running
 */
export function runConsumer(consumer: Consumer, dependencies: RunDependencies | (() => RunDependencies)): Starting {
  try {
    const definition = definitionOf(consumer)
    const parts = typeof dependencies === 'function' ? dependencies() : dependencies
    const checked = optionsOf('runConsumer', RUN, parts, ({ source }, problems) => {
      plainText().read(source.group, { name: 'group', problems })
    })
    const starting = handleOf(new RunningConsumer(definition, checked))
    // Callers that do not await the start learn of a failure from `health()` and an event.
    starting.catch(() => {})
    return starting
  } catch (error) {
    return handleOf(new RefusedConsumer(consumer, error))
  }
}

/** The running consumer itself must not be a promise: a promise cannot resolve with a thenable. */
function handleOf(running: Running): Starting {
  const started = running.ready().then(() => running)
  return Object.defineProperties(started, {
    state: { get: () => running.state },
    ready: { value: () => started.then(() => running.ready()) },
    pause: { value: (why?: PauseOptions) => running.pause(why) },
    resume: { value: (why?: PauseOptions) => running.resume(why) },
    stop: { value: (options?: StopOptions) => running.stop(options) },
    health: { value: () => running.health() },
    [Symbol.asyncDispose]: { value: () => running.stop() },
  }) as Starting
}

/** How long `stop()` waits for a start that it cancelled. */
const START_ENDS_WITHIN_MS = 5_000

class RunningConsumer implements Running {
  readonly #pipeline: Pipeline
  readonly #standing: Standing
  readonly #source: Source
  readonly #publisher: Publisher
  readonly #definition: ResolvedConsumer
  readonly #clock: Clock
  readonly #start: Start
  #state: LifecycleState = 'starting'
  /** Why the start failed. */
  #failure: string | undefined
  #isPaused = false
  /** Who has paused it and why, for people. */
  #paused = 'paused'
  #stopped: Promise<void> | undefined

  constructor(definition: ResolvedConsumer, { source, publisher, clock, entropy }: Complete<RunDependencies>) {
    this.#source = source
    this.#publisher = publisher
    this.#definition = definition
    this.#clock = clock
    const setPaused = (paused: boolean): void => this.#setPaused(paused)
    const isBoundBySource = source.boundsItself === true
    const { group } = source
    this.#pipeline = new Pipeline({
      consumer: definition,
      group,
      publisher,
      clock,
      entropy,
      setPaused,
      isBoundBySource,
      rewind: (stream) => source.rewind?.(stream),
      unfetched: () => source.unfetched?.() ?? [],
      member: memberOf(source),
    })
    this.#standing = new Standing(definition, this.#pipeline)
    const backlog = source.backlog?.bind(source)
    this.#pipeline.started(() => this.health(), { control: this, ...(backlog && { backlog }) })
    this.#start = new Start({
      work: () => this.#open(),
      failed: (error) => this.#failed(error),
      failedLate: (error) => this.#failedLate(error),
    })
  }

  get state(): LifecycleState {
    return this.#standing.stateIn(this.#state)
  }

  ready(): Promise<StartResult> {
    return this.#start.result
  }

  pause(why: PauseOptions = {}): void {
    const checked = checkedWhy(why, 'pause')
    if (this.#stopped !== undefined || this.#state === 'failed' || this.#pipeline.isPaused) return
    this.#paused = `paused${checked.by === undefined ? '' : ` by ${checked.by}`}${checked.reason === undefined ? '' : `: ${checked.reason}`}`
    this.#pipeline.pause(checked)
  }

  resume(why: PauseOptions = {}): void {
    const checked = checkedWhy(why, 'resume')
    if (this.#stopped === undefined) this.#pipeline.resume(checked)
  }

  stop(options?: StopOptions): Promise<void> {
    return stopBy(options, (deadlineMs) => {
      // Assigned before the first await, so that two calls in one turn get the same promise.
      this.#stopped ??= this.#drainAndLeave(deadlineMs)
      return this.#stopped
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  health(): Health {
    const source = this.#source.health()
    return this.#standing.health({
      state: this.state,
      source: { ...source, ready: source.ready && !this.#isPaused, detail: this.#sourceCheck(source.detail) },
    })
  }

  #sourceCheck(detail: string): string {
    if (this.#failure !== undefined) return `failed to start: ${this.#failure}`
    return this.#pipeline.isPaused ? this.#paused : detail
  }

  /** @throws ConfigError `CONFIG_INVALID` */
  #checkPlaces(): void {
    const { name, store, scope } = this.#definition
    refuse(`consumer ${JSON.stringify(name)}`, [
      ...problemsOfFormerPlaces(scope, this.#source),
      ...(store.strategy === 'offsets' ? problemsOfPositions(this.#source, this.#publisher) : []),
      ...problemsOfRetryPlace(this.#definition, this.#publisher, NO_RETRY_PLACE),
    ])
  }

  async #open(): Promise<void> {
    this.#checkPlaces()
    await this.#standing.openStore()
    if (this.#stopped !== undefined) return
    await this.#openSource()
    if (this.#stopped !== undefined) return
    this.#state = 'running'
    this.#standing.started()
    void this.#compareRetention()
  }

  /** What the source does belongs to no trace of its caller. */
  #openSource(): Promise<void> {
    const { trace } = this.#definition
    const open = (): Promise<void> => this.#source.open(this.#pipeline)
    return trace === undefined ? open() : trace.outside(open, { quiet: true })
  }

  async #failed(reason: unknown): Promise<void> {
    this.#state = 'failed'
    this.#failure = describeError(reason)
    this.#pipeline.report({ type: 'source', event: 'start-failed', detail: this.#failure, isWarning: true })
    // Deliveries that arrived before the failure are already running.
    await Promise.allSettled([this.#pipeline.drain(0), this.#source.close()])
  }

  /** A source that was closed while it opened says so by STOPPED; any other cause is for people. */
  #failedLate(reason: unknown): void {
    if (this.#state === 'stopped' || hasCode(reason, 'STOPPED')) return
    const detail = `stop() was called during the start, which then failed: ${describeError(reason)}`
    this.#pipeline.report({ type: 'source', event: 'start-cancelled', detail })
  }

  /**
   * Reports once, at the start, that the broker can redeliver a message after its record was removed; it would run
   * again.
   */
  async #compareRetention(): Promise<void> {
    const { store, retentionMs } = this.#definition
    if (store.strategy === 'offsets') return
    try {
      const window = await this.#source.redeliveryWindowMs?.()
      if (window === undefined || this.#state !== 'running') return
      if (window !== 'for-ever') this.#pipeline.purger.keepFor(window)
      const detail = tooShort(retentionMs, window)
      if (detail === undefined) return
      // A warning only for a log: a reader can go back to any offset that the log still has. A queue redelivers only
      // messages whose ack was lost, and most queues have no TTL.
      const isUsual = window === 'for-ever' && this.#source.seeksPositions !== true
      const warning = isUsual ? {} : { isWarning: true as const }
      this.#pipeline.report({ type: 'source', event: 'retention-too-short', detail, ...warning })
    } catch {
      // The purge then uses `retentionMs` alone, which is what the documentation promises.
    }
  }

  async #drainAndLeave(deadlineMs: number): Promise<void> {
    this.#state = 'draining'
    this.#start.stop()
    const until = this.#clock.monotonic() + deadlineMs
    try {
      // Both at once: the deadline counts from now, however long the source takes to stop its intake.
      const ended = await Promise.allSettled([this.#source.stopIntake(), this.#pipeline.drain(deadlineMs)])
      for (const end of ended) if (end.status === 'rejected') throw end.reason
      const published = this.#standing.stopped(until - this.#clock.monotonic())
      if (published !== undefined) await published
    } finally {
      await Promise.all([this.#source.close(), this.#startIsOver()]).finally(() => {
        this.#state = 'stopped'
        this.#pipeline.stopped()
      })
    }
  }

  /** A dial or a join that a client has begun cannot be cancelled, but it ends. */
  async #startIsOver(): Promise<void> {
    const late = new Promise<void>((resolve) => {
      const cancel = this.#clock.after(START_ENDS_WITHIN_MS, resolve)
      void this.#start.ended.then(cancel)
    })
    await Promise.race([this.#start.ended, late])
  }

  #setPaused(paused: boolean): void {
    if (paused === this.#isPaused) return
    this.#isPaused = paused
    if (this.#state !== 'starting' && this.#state !== 'running') return
    if (paused) this.#source.pause()
    else this.#source.resume()
  }
}

/** The consumer or its options were refused: nothing was started, and there is nothing to stop. */
class RefusedConsumer implements Running {
  readonly state = 'failed'
  readonly #refused: Promise<never>
  readonly #why: string
  readonly #name: string

  constructor(consumer: Consumer, reason: unknown) {
    const { name } = (consumer ?? {}) as { readonly name?: unknown }
    this.#name = typeof name === 'string' ? name : ''
    this.#why = describeError(reason)
    this.#refused = Promise.reject(reason)
  }

  ready(): Promise<never> {
    return this.#refused
  }

  pause(): void {}

  resume(): void {}

  async stop(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  health(): Health {
    const checks = {
      source: `failed to start: ${this.#why}`,
      store: 'not open',
      handlers: '0 in flight',
      progress: progressCheck([]),
      hold: 'ok',
    }
    return {
      consumer: this.#name,
      live: false,
      ready: false,
      state: this.state,
      checks,
      ...NO_LOAD,
      partitions: [],
      counts: {},
    }
  }
}

/** `undefined`: the source cannot leave, or shall not. */
function memberOf(source: Source): Member | undefined {
  const { leaveAfterMs } = source
  if (leaveAfterMs === undefined || leaveAfterMs === 'never') return undefined
  return { leaveAfterMs, leave: (why) => source.leave?.(why), comeBack: () => source.comeBack?.() }
}

const NO_RETRY_PLACE =
  'give the source one, such as retry: { topics: [{ delayMs }] } of runKafka or retry: { delayQueues: [delayMs] } of runRabbit, or leave whenBusy out'

/** The requirements of strategy `offsets` on a broker. */
function problemsOfPositions(source: Source, publisher: Publisher): readonly string[] {
  const problems: string[] = []
  if (source.seeksPositions !== true) {
    problems.push(
      `store: expected a source that begins at stored positions, as runKafka has, for a store of strategy offsets, got one of ${source.system}: give it another store, such as postgresInbox({ pool })`,
    )
  }
  if (hasRetryPlace(publisher)) {
    problems.push(
      'retry places: expected none with a store of strategy offsets: a copy has another position than its message, and would be handled beside it; leave them out, messages are retried in their partition',
    )
  }
  return problems
}

const PAUSE: Table<PauseOptions, 'by' | 'reason'> = { by: BY, reason: REASON }

/** @throws ConfigError `CONFIG_INVALID` */
function checkedWhy(why: PauseOptions | undefined, of: string): PauseOptions {
  return withoutUndefined<PauseOptions>(optionsOf(of, PAUSE, why))
}
