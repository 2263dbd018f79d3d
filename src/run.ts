import { systemClock } from './clock.ts'
import { definitionOf, type Consumer } from './define-consumer.ts'
import { tooShort } from './core/retention.ts'
import { ConfigError } from './errors.ts'
import { systemEntropy } from './entropy.ts'
import { STOP_DEADLINE_MS, type Health, type LifecycleState, type Running, type StopOptions } from './lifecycle.ts'
import { Pipeline } from './pipeline/pipeline.ts'
import type { ResolvedConsumer } from './resolve-options.ts'
import type { Clock } from './ports/clock.ts'
import type { Entropy } from './ports/entropy.ts'
import type { Publisher, Source } from './ports/source.ts'

export interface RunDependencies {
  readonly source: Source
  readonly publisher: Publisher
  /** @defaultValue the system's */
  readonly clock?: Clock
  /** @defaultValue the system's */
  readonly entropy?: Entropy
}

/**
 * Runs a consumer over a source: what `runKafka` and `runRabbit` do, and what an adapter of your own does. Resolves when the
 * source consumes.
 *
 * @throws ConfigError `CONFIG_INVALID` for what is not from `defineConsumer`
 * @throws StoreError, BrokerError or ConfigError when store or source cannot be opened; nothing is left running then
 */
export async function runConsumer(consumer: Consumer, dependencies: RunDependencies): Promise<Running> {
  const running = new RunningConsumer(consumer, dependencies)
  await running.start()
  return running
}

class RunningConsumer implements Running {
  readonly #pipeline: Pipeline
  readonly #source: Source
  readonly #definition: ResolvedConsumer
  readonly #open: () => Promise<void>
  #state: LifecycleState = 'idle'
  #isPaused = false
  #stopped: Promise<void> | undefined

  constructor(
    consumer: Consumer,
    { source, publisher, clock = systemClock, entropy = systemEntropy }: RunDependencies,
  ) {
    const definition = definitionOf(consumer)
    this.#source = source
    this.#definition = definition
    this.#open = () => {
      if (definition.store.strategy === 'offsets') checkPositions(definition.name, source, publisher)
      return definition.store.open()
    }
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
    })
  }

  get state(): LifecycleState {
    return this.#state
  }

  async start(): Promise<void> {
    this.#state = 'starting'
    try {
      await this.#open()
      await this.#source.open(this.#pipeline)
    } catch (error) {
      this.#state = 'failed'
      // What was delivered before it failed runs already.
      await Promise.allSettled([this.#pipeline.drain(0), this.#source.close()])
      throw error
    }
    if (this.#state !== 'starting') return
    this.#state = 'running'
    this.#pipeline.purger.start()
    void this.#compareRetention()
  }

  stop({ deadlineMs = STOP_DEADLINE_MS }: StopOptions = {}): Promise<void> {
    // Assigned before the first await: two calls in one turn get the same promise.
    this.#stopped ??= this.#drainAndLeave(deadlineMs)
    return this.#stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  health(): Health {
    const source = this.#source.health()
    const { line, stuck, inFlight, isBroken } = this.#pipeline
    return {
      live: this.#state !== 'failed' && stuck === 0 && !isBroken,
      ready: this.#state === 'running' && source.ready && !this.#isPaused,
      state: this.#state,
      checks: {
        source: source.detail,
        store: line.isDown ? 'down' : 'ok',
        handlers: stuck === 0 ? `${inFlight} in flight` : `${stuck} stuck`,
      },
      partitions: source.partitions ?? [],
      counts: source.counts ?? {},
    }
  }

  /** What comes again after its record has gone runs again: said once, at the start. */
  async #compareRetention(): Promise<void> {
    const { store, retentionMs } = this.#definition
    if (store.strategy === 'offsets') return
    try {
      const window = await this.#source.redeliveryWindowMs?.()
      if (window === undefined || this.#state !== 'running') return
      if (window !== 'for-ever') this.#pipeline.purger.keepFor(window)
      const detail = tooShort(retentionMs, window)
      if (detail === undefined) return
      // A log is read again from any place that it still has. A queue only brings again what lost its ack, and most have no TTL.
      const isUsual = window === 'for-ever' && this.#source.seeksPositions !== true
      const warning = isUsual ? {} : { isWarning: true as const }
      this.#pipeline.report({ type: 'source', event: 'retention-too-short', detail, ...warning })
    } catch {
      // The purge then knows `retentionMs` alone, which is what is promised.
    }
  }

  async #drainAndLeave(deadlineMs: number): Promise<void> {
    this.#state = 'draining'
    try {
      // Both at once: the deadline counts from here, however long the source takes to end its intake.
      const ended = await Promise.allSettled([this.#source.stopIntake(), this.#pipeline.drain(deadlineMs)])
      for (const end of ended) if (end.status === 'rejected') throw end.reason
    } finally {
      await this.#source.close().finally(() => {
        this.#state = 'stopped'
      })
    }
  }

  #setPaused(paused: boolean): void {
    if (paused === this.#isPaused) return
    this.#isPaused = paused
    if (this.#state !== 'starting' && this.#state !== 'running') return
    if (paused) this.#source.pause()
    else this.#source.resume()
  }
}

/** What strategy `offsets` asks of a broker. @throws ConfigError `CONFIG_INVALID` */
function checkPositions(name: string, source: Source, publisher: Publisher): void {
  const problems: string[] = []
  if (source.seeksPositions !== true) {
    problems.push(
      `store: expected a source that begins at stored positions, as runKafka has, for a store of strategy offsets, got one of ${source.system}: give it another store, such as postgresInbox({ pool })`,
    )
  }
  if (publisher.retryDelayMs?.(1) !== undefined || publisher.busyWaitMs !== undefined) {
    problems.push(
      'retry places: expected none with a store of strategy offsets: a copy has another position than its message, and would be handled beside it; leave them out, messages are retried in their partition',
    )
  }
  if (problems.length > 0) throw new ConfigError(problems.map((one) => `consumer ${JSON.stringify(name)}: ${one}`))
}
