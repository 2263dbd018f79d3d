import type { DiscoveryService } from '@nestjs/core'
import {
  asGiven,
  atOnce,
  ConfigError,
  defineConsumer,
  flag,
  func,
  needed,
  object,
  optionsOf,
  or,
  STOP,
  type Complete,
  type Consumer,
  type ConsumerOptions,
  type Health,
  type Running,
  type StopOptions,
  type Table,
} from '../../src/internal.ts'
import { DEFAULTABLE, handlersOf, type HandleOnceOptions } from './handle-once.ts'

export interface ConsumeOnceModuleOptions extends StopOptions {
  /** Options of every consumer that its decorator does not give, such as `store` and `log`. */
  readonly defaults?: Partial<Omit<HandleOnceOptions, 'name' | 'startWith'>>
  /** Starts a consumer: `(consumer, options) => runKafka(kafka, consumer, options)`. */
  readonly start: (consumer: Consumer, startWith: never) => Running
  /**
   * The start of the application waits until every consumer has joined, and fails with the first that cannot. Probes
   * that the application serves are then down until the broker is there.
   * @defaultValue false: a consumer that could not start is not ready, and its error is in its log
   */
  readonly waitForReady?: boolean
}

const MODULE: Table<ConsumeOnceModuleOptions> = {
  ...STOP,
  defaults: or({}, asGiven(object(DEFAULTABLE))),
  start: needed(func()),
  waitForReady: or(false, flag()),
}

/** @throws ConfigError `CONFIG_INVALID` */
export function checkModule(options: ConsumeOnceModuleOptions, of: string): Complete<ConsumeOnceModuleOptions> {
  return optionsOf(of, MODULE, options)
}

/** As Terminus takes it from a health indicator. */
export type Indicated<Key extends string> = Readonly<
  Record<Key, { readonly status: 'up' | 'down'; readonly consumers: Readonly<Record<string, Health>> }>
>

/**
 * The consumers of an application. They start when the application does, and stop when it is closed, before its other
 * providers are destroyed.
 */
export class ConsumeOnceConsumers {
  readonly #options: Complete<ConsumeOnceModuleOptions>
  readonly #discovery: DiscoveryService
  readonly #running = new Map<string, Running>()
  /** Set by the first `onModuleDestroy`. */
  #stopped: Promise<void> | undefined

  /** @throws ConfigError `CONFIG_INVALID` */
  constructor(options: ConsumeOnceModuleOptions, discovery: DiscoveryService) {
    this.#options = checkModule(options, 'new ConsumeOnceConsumers')
    this.#discovery = discovery
  }

  /** The started consumers, by name: for `serveHealth`, `pause()` and `health()`. */
  get running(): ReadonlyMap<string, Running> {
    return this.#running
  }

  /**
   * Called by Nest. A stop during the start is no failure, so `waitForReady` resolves then.
   *
   * @throws ConfigError if a decorator cannot be meant, with nothing left running
   */
  async onApplicationBootstrap(): Promise<void> {
    // A signal before `init()` makes Nest destroy the modules first. A consumer that starts after that would never stop.
    if (this.#stopped !== undefined) return
    try {
      for (const { instance } of this.#discovery.getProviders()) this.#startOf(instance)
      if (this.#options.waitForReady) {
        await Promise.all([...this.#running.values()].map((running) => running.ready()))
      }
    } catch (error) {
      await this.onModuleDestroy()
      throw error
    }
  }

  /** Called by Nest. Idempotent. */
  onModuleDestroy(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    const { deadlineMs } = this.#options
    await Promise.all([...this.#running.values()].map((running) => running.stop({ deadlineMs })))
  }

  /** For a readiness probe of Terminus: `health.check([() => consumers.isReady('consumers')])`. */
  isReady<Key extends string>(key: Key): Indicated<Key> {
    return this.#indicated(key, ({ ready }) => ready)
  }

  /** For a liveness probe: down only where a restart helps. */
  isLive<Key extends string>(key: Key): Indicated<Key> {
    return this.#indicated(key, ({ live }) => live)
  }

  #indicated<Key extends string>(key: Key, isUp: (health: Health) => boolean): Indicated<Key> {
    const consumers = Object.fromEntries([...this.#running].map(([name, running]) => [name, running.health()]))
    const status = Object.values(consumers).every(isUp) ? 'up' : 'down'
    return { [key]: { status, consumers } } as Indicated<Key>
  }

  #startOf(provider: unknown): void {
    for (const { method, options } of handlersOf(provider)) {
      const { startWith, ...own } = options
      if (this.#running.has(own.name)) {
        throw new ConfigError([`HandleOnce: expected one handler with the name '${own.name}', got two`])
      }
      const handle = (context: unknown): unknown =>
        (provider as Record<string, (given: unknown) => unknown>)[method]?.(context)
      const given = { ...this.#options.defaults, ...own, handle } as unknown as ConsumerOptions<unknown, unknown, never>
      const running = this.#options.start(defineConsumer(given), startWith as never)
      // A handle may be awaited too: its methods tell it from a promise of one.
      const isHandle = typeof (running as Partial<Running> | undefined)?.stop === 'function'
      this.#running.set(own.name, isHandle ? running : atOnce('start', running, START_AT_ONCE))
    }
  }
}

const START_AT_ONCE =
  'return the running consumer itself, as runKafka() and runRabbit() do; waitForReady waits until it has joined'
