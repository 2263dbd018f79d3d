import {
  atOnce,
  ConfigError,
  defineConsumer,
  type Consumer,
  type ConsumerOptions,
  type DurationMs,
  type Message,
} from '../../src/internal.ts'
import type { OncePerMessageOptions } from './once-per-message.ts'
import { Closing, Runs, TakenConsumer, type Next, type Peers, type Taking } from './taken.ts'
import type { TransportDelivery } from './transports.ts'

interface ModuleParts {
  readonly defaults: object
  readonly take: ((consumer: Consumer, takeWith: never) => Taking) | undefined
}

/** The consumers of the methods with `@OncePerMessage`. */
export class TakenConsumers {
  /** By the provider of the application, which the interceptors get. */
  static readonly #shared = new WeakMap<object, TakenConsumers>()

  readonly #module: ModuleParts
  readonly #isTaken: (name: string) => boolean
  readonly #all = new Map<OncePerMessageOptions, TakenConsumer>()
  readonly #closing = new Closing()

  constructor(module: ModuleParts, isTaken: (name: string) => boolean) {
    this.#module = module
    this.#isTaken = isTaken
  }

  static share(provider: object, taken: TakenConsumers): void {
    TakenConsumers.#shared.set(provider, taken)
  }

  static of(provider: object): TakenConsumers {
    const shared = TakenConsumers.#shared.get(provider)
    if (shared === undefined) throw new TypeError('expected the ConsumeOnceConsumers of this application')
    return shared
  }

  get named(): readonly (readonly [name: string, consumer: TakenConsumer])[] {
    return [...this.#all].map(([{ name }, consumer]) => [name, consumer])
  }

  /** A transport may deliver before the application has started. */
  take(options: OncePerMessageOptions, delivery: TransportDelivery, next: Next, peers: Peers): Promise<unknown> {
    return this.make(options).take(delivery, next, peers)
  }

  /** Makes the consumer of a method, once. @throws ConfigError `CONFIG_INVALID` */
  make(options: OncePerMessageOptions): TakenConsumer {
    const known = this.#all.get(options)
    if (known !== undefined) return known
    const { takeWith = {}, ...own } = options
    const { take, defaults } = this.#module
    if (take === undefined) throw refused(`'${own.name}' needs the option take of ConsumeOnceModule, got undefined`)
    if (this.#isTaken(own.name) || this.named.some(([name]) => name === own.name)) {
      throw refused(`expected one handler with the name '${own.name}', got two`)
    }
    const runs = new Runs()
    const handle = (context: { readonly message: Message }): unknown => runs.run(context)
    const given = { ...defaults, ...own, handle } as unknown as ConsumerOptions<unknown, unknown, never>
    const taking = atOnce('take', take(defineConsumer(given), takeWith as never), TAKE_AT_ONCE)
    const made = new TakenConsumer(taking, runs, this.#closing)
    this.#all.set(options, made)
    return made
  }

  async stop(options: { readonly deadlineMs: DurationMs }): Promise<void> {
    this.#closing.stop()
    await Promise.all([...this.#all.values()].map((consumer) => consumer.stop(options)))
  }

  /** The transports close now. */
  close(): void {
    this.#closing.close()
  }
}

function refused(problem: string): ConfigError {
  return new ConfigError([`OncePerMessage: ${problem}`])
}

const TAKE_AT_ONCE = 'return the function itself, as eachMessage() and eachDelivery() do'
