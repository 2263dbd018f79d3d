import { RETRY_TIMES } from '../consumer/retry-times.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { shorterThanHandlers } from '../people/idle-limit.ts'
import type { Apart } from '../pipeline/batching/doubt-queue.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { progressCheck } from '../pipeline/stall-watch.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { Health, LifecycleState } from '../ports/health.ts'
import type { SourceHealth } from '../ports/source.ts'
import type { DurationMs } from '../core/units.ts'
import { ConfigError } from '../foundation/errors.ts'

interface Now {
  readonly state: LifecycleState
  /** `ready`: what it takes in reaches its handlers. */
  readonly source: SourceHealth
}

/** How a consumer stands, whether it has a source or its caller brings the deliveries. */
export class Standing {
  readonly #consumer: ResolvedConsumer
  readonly #pipeline: Pipeline
  #isStoreOpen = false
  /** What it has started. */
  #relaying: Outbox | undefined

  constructor(consumer: ResolvedConsumer, pipeline: Pipeline) {
    this.#consumer = consumer
    this.#pipeline = pipeline
  }

  /**
   * Opens its store. Resolves when messages may run: a consumer that may run without its store does not wait for one that
   * is down, and goes on opening it beside them. In mode `observe` not even a store that can never work delays a message.
   *
   * @throws ConfigError if the shared limiter can never work, or the store as it is configured, except in mode `observe`
   */
  async openStore(): Promise<void> {
    const { store, mode, onStoreDown, limit } = this.#consumer
    await limit?.shared?.open?.()
    if (mode === 'observe') return void this.#openLater()
    try {
      await store.open()
      this.#opened()
    } catch (error) {
      if (onStoreDown === 'pause' || error instanceof ConfigError) throw error
      void this.#openLater()
    }
  }

  async #openLater(): Promise<void> {
    const { store } = this.#consumer
    const answered = await this.#pipeline.line.ask('open', 1, async () => [await store.open()], NO_FAULT)
    if (answered !== undefined) this.#opened()
  }

  #opened(): void {
    this.#isStoreOpen = true
    this.#pipeline.storeCheck.opened()
  }

  /** Its start has succeeded. */
  started(): void {
    this.#pipeline.purger.start()
    const { outbox } = this.#consumer.store
    if (outbox?.isBesideConsumers === true) {
      outbox.start()
      this.#relaying = outbox
    }
    const detail = shorterThanHandlers(this.#consumer)
    if (detail === undefined) return
    this.#pipeline.report({ type: 'source', event: 'idle-limit-too-short', detail, isWarning: true })
  }

  /** What its handlers have committed is published, for so long at most. `undefined`: there is nothing to wait for. */
  stopped(withinMs: DurationMs): Promise<void> | undefined {
    const relaying = this.#relaying
    this.#relaying = undefined
    return relaying?.stop(withinMs)
  }

  /** What is to be said of it while its lifecycle has come to `state`. */
  stateIn(state: LifecycleState): LifecycleState {
    const { isPaused, hold, stalls } = this.#pipeline
    if (state !== 'running') return state
    if (isPaused) return 'paused'
    if (hold.isHolding) return 'holding'
    return stalls.length > 0 ? 'stalled' : 'running'
  }

  health({ state, source }: Now): Health {
    // For those who look next: an idle consumer has no call that shows that its store is gone.
    void this.#pipeline.storeCheck.look()
    const { line, stuck, apart, isBroken, decoding, settledWithoutRun, stalls, load, hold, limiter } = this.#pipeline
    // Nothing has begun for longer than the usual quiet time, because a last attempt runs beside nothing.
    const isHeldUp = apart !== undefined && apart.sinceMs > 2 * RETRY_TIMES.quietMs
    const decode = decoding.check
    return {
      consumer: this.#consumer.name,
      live: state !== 'failed' && stuck === 0 && !isBroken,
      ready: state === 'running' && source.ready && !isHeldUp && decode === undefined && limiter?.isDown !== true,
      state,
      checks: {
        source: source.detail,
        store: line.isDown ? 'down' : this.#isStoreOpen ? 'ok' : 'not open',
        handlers: handlersCheck(load.inFlight, stuck, apart),
        progress: progressCheck(stalls),
        ...(decode === undefined ? {} : { decode }),
        ...(limiter === undefined ? {} : { limit: limiter.check }),
        hold: hold.check,
      },
      ...load,
      partitions: source.partitions ?? [],
      counts: { ...source.counts, 'settled-without-run': settledWithoutRun },
    }
  }
}

const NO_FAULT = (): undefined => undefined

function handlersCheck(inFlight: number, stuck: number, apart: Apart | undefined): string {
  if (stuck > 0) return `${stuck} stuck`
  const running = `${inFlight} in flight`
  if (apart === undefined) return running
  return `${running}, ${apart.count} run apart and hold up the rest for ${Math.round(apart.sinceMs / 1000)} s`
}
