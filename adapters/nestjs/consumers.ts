import type { DiscoveryService } from '@nestjs/core'
import {
  asGiven,
  atOnce,
  ConfigError,
  defineConsumer,
  flag,
  func,
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
import { oncePerMessageOf } from './once-per-message.ts'
import type { Taking } from './taken.ts'
import { TakenConsumers } from './taken-consumers.ts'

export interface ConsumeOnceModuleOptions extends StopOptions {
  /** Options of every consumer that its decorator does not give, such as `store` and `log`. */
  readonly defaults?: Partial<Omit<HandleOnceOptions, 'name' | 'startWith'>>
  /** For `@HandleOnce`: starts a consumer: `(consumer, options) => runKafka(kafka, consumer, options)`. */
  readonly start?: (consumer: Consumer, startWith: never) => Running
  /**
   * For `@OncePerMessage`: makes the function that takes each delivery of a transport of Nest: `(consumer, options) =>
   * eachMessage(consumer, { kafka, ...options })`, or with `eachDelivery` for RabbitMQ.
   */
  readonly take?: (consumer: Consumer, takeWith: never) => Taking
  /**
   * The start of the application waits until every consumer has joined, and fails with the first that cannot. Probes
   * that the application serves are then down until the broker is there.
   * @defaultValue false: a consumer that could not start is not ready, and its error is in its log
   */
  readonly waitForReady?: boolean
}

const MODULE: Table<ConsumeOnceModuleOptions, 'start' | 'take'> = {
  ...STOP,
  defaults: or({}, asGiven(object(DEFAULTABLE))),
  start: func(),
  take: func(),
  waitForReady: or(false, flag()),
}

type CheckedModule = Complete<ConsumeOnceModuleOptions, 'start' | 'take'>

/** @throws ConfigError `CONFIG_INVALID` */
export function checkModule(options: ConsumeOnceModuleOptions, of: string): CheckedModule {
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
  readonly #options: CheckedModule
  readonly #discovery: DiscoveryService
  readonly #running = new Map<string, Running>()
  readonly #taken: TakenConsumers
  /** Set by the first `onModuleDestroy`. */
  #stopped: Promise<void> | undefined

  /** @throws ConfigError `CONFIG_INVALID` */
  constructor(options: ConsumeOnceModuleOptions, discovery: DiscoveryService) {
    this.#options = checkModule(options, 'new ConsumeOnceConsumers')
    this.#discovery = discovery
    this.#taken = new TakenConsumers(this.#options, (name) => this.#running.has(name))
    TakenConsumers.share(this, this.#taken)
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
      const [providers, controllers] = [this.#discovery.getProviders(), this.#discovery.getControllers()]
      for (const { instance } of providers) this.#startOf(instance)
      for (const { instance } of [...providers, ...controllers]) {
        for (const options of oncePerMessageOf(instance)) this.#taken.make(options)
      }
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

  /** Called by Nest, right before the transports close. */
  beforeApplicationShutdown(): void {
    this.#taken.close()
  }

  /**
   * Before `app.close()` of a `createMicroservice`, which closes the transport first and so waits for its messages under
   * way. Everywhere else Nest does this. Idempotent.
   */
  async stop(): Promise<void> {
    await this.onModuleDestroy()
    this.beforeApplicationShutdown()
  }

  async #stop(): Promise<void> {
    const { deadlineMs } = this.#options
    await Promise.all([this.#taken, ...this.#running.values()].map((one) => one.stop({ deadlineMs })))
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
    const all = [...this.#running, ...this.#taken.named]
    const consumers = Object.fromEntries(all.map(([name, one]) => [name, one.health()]))
    const status = Object.values(consumers).every(isUp) ? 'up' : 'down'
    return { [key]: { status, consumers } } as Indicated<Key>
  }

  #startOf(provider: unknown): void {
    for (const { method, options } of handlersOf(provider)) {
      const { startWith, ...own } = options
      if (this.#running.has(own.name)) {
        throw new ConfigError([`HandleOnce: expected one handler with the name '${own.name}', got two`])
      }
      const { start } = this.#options
      if (start === undefined) {
        throw new ConfigError([
          `ConsumeOnceModule: start: expected a function, which @HandleOnce of '${own.name}' needs, got undefined`,
        ])
      }
      const handle = (context: unknown): unknown =>
        (provider as Record<string, (given: unknown) => unknown>)[method]?.(context)
      const given = { ...this.#options.defaults, ...own, handle } as unknown as ConsumerOptions<unknown, unknown, never>
      const running = start(defineConsumer(given), startWith as never)
      // A handle may be awaited too: its methods tell it from a promise of one.
      const isHandle = typeof (running as Partial<Running> | undefined)?.stop === 'function'
      this.#running.set(own.name, isHandle ? running : atOnce('start', running, START_AT_ONCE))
    }
  }
}

const START_AT_ONCE =
  'return the running consumer itself, as runKafka() and runRabbit() do; waitForReady waits until it has joined'
