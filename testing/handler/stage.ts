import { isDeepStrictEqual } from 'node:util'
import { redefined, type Consumer } from '../../src/consumer/define-consumer.ts'
import type { ResolvedConsumer } from '../../src/consumer/resolve-options.ts'
import { Skipped } from '../../src/consumer/skipped.ts'
import type { Key, MessageRecord } from '../../src/core/record.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { memoryStore } from '../../src/memory/store.ts'
import type { Message } from '../../src/ports/message.ts'
import type { Running } from '../../src/ports/lifecycle.ts'
import type { Store } from '../../src/ports/store.ts'
import { runConsumer } from '../../src/run/run.ts'
import { MemoryInbox } from '../stores/memory-inbox.ts'
import type { Effect, Effects } from './effects.ts'
import { VirtualTime } from './virtual-time.ts'

const PLACE = 'test'

/** What a handler's context has, of one message or of a batch. */
type Context = Handled | { readonly messages: readonly Handled[] }

interface Handled {
  readonly idempotencyKey: string
  readonly message: Message
}

type Handle = (context: Context) => unknown

/** Where the handler stops: before it began, or after it has returned. Resolves when it goes on. */
export type Hold = (at: 'begin' | 'end') => Promise<void> | undefined

/** What is tested, and by which messages. */
export interface Staged {
  readonly consumer: Consumer
  readonly definition: ResolvedConsumer
  readonly messages: readonly Message[]
}

/** A broker, a server for the store, and processes that run the consumer, on virtual time. */
export class Stage {
  readonly broker: MemoryBroker = new MemoryBroker({ partitions: 1 })
  readonly #time = new VirtualTime()
  readonly #records = new Map<Key, MessageRecord>()
  /** Those that run. */
  readonly #handlers = new Set<Promise<unknown>>()
  readonly #consumer: Consumer
  readonly #definition: ResolvedConsumer
  readonly #effects: Effects
  readonly #messages: readonly Message[]
  /** Idempotency keys under which handlers have begun, and which of the messages each belongs to. */
  readonly handled: Map<string, number> = new Map()
  /** Messages that the handler has skipped. */
  readonly skipped: Set<number> = new Set()

  constructor({ consumer, definition, messages }: Staged, effects: Effects) {
    this.#consumer = consumer
    this.#definition = definition
    this.#messages = messages
    this.#effects = effects
  }

  publish({ key, value, headers, messageId }: Message): void {
    const timestamp = this.#time.now()
    this.broker.publish(PLACE, { key, value, headers, timestamp, ...(messageId === undefined ? {} : { messageId }) })
  }

  /** Time goes by: what is published now comes later. */
  pass(): Promise<void> {
    return this.#time.pass()
  }

  /** Which of the messages this is, as a producer sees them; of equal ones the first. */
  numberOf({ key, value, headers, messageId }: Message): number {
    const sent = { key, value, headers, messageId }
    return this.#messages.findIndex((one) =>
      isDeepStrictEqual({ key: one.key, value: one.value, headers: one.headers, messageId: one.messageId }, sent),
    )
  }

  redeliver(): void {
    this.broker.redeliver(PLACE, PLACE)
  }

  /** Starts a process. It takes over what the one before had. */
  start(hold: Hold = () => undefined): Process {
    const life = { isOver: false }
    const clock = this.#time.clockFor(() => !life.isOver)
    const store = this.#store(clock)
    const definition = this.#definition
    const { handle, handleBatch } = definition as unknown as { readonly handle?: Handle; readonly handleBatch?: Handle }
    const held = (run: Handle): Handle => this.#held(run, hold)
    const consumer = redefined(this.#consumer, {
      store: untilDeath(store, life),
      ...(handle === undefined ? {} : { handle: held(handle) }),
      ...(handleBatch === undefined ? {} : { handleBatch: held(handleBatch) }),
      // One handler at a time, so that an effect belongs to its message.
      concurrency: 1,
      transactions: 1,
      batchSize: 1,
      limit: undefined,
      mode: 'enforce',
      holdAfter: Number.POSITIVE_INFINITY,
      purge: 'never',
      trace: undefined,
      observers: [],
    })
    const source = this.broker.source(PLACE, PLACE)
    const running = runConsumer(consumer, { source, publisher: source, clock })
    return {
      running,
      die: () => {
        life.isOver = true
        this.broker.kill(PLACE, PLACE)
        if (store instanceof MemoryInbox) store.die()
      },
    }
  }

  until(isSo: () => boolean): Promise<void> {
    return this.#time.until(isSo, () => this.#handlers)
  }

  drained(): Promise<void> {
    return this.until(() => this.broker.isDrained(PLACE, PLACE))
  }

  #store(clock: { readonly now: () => number }): Store<unknown> {
    const { strategy, outbox } = this.#definition.store
    const { database, outbox: own } = this.#effects
    if (strategy === 'lease') return memoryStore({ clock, records: this.#records })
    return new MemoryInbox<unknown, Effect>({
      clock,
      database,
      ...(outbox === undefined ? {} : { outbox: own }),
      lendAs: (memory) => this.#effects.lend(memory),
    })
  }

  #held(run: Handle, hold: Hold): Handle {
    return async (context) => {
      const [one] = 'messages' in context ? context.messages : [context]
      if (one === undefined) throw new TypeError('a batch without a message (stage.held)')
      const { idempotencyKey: key } = one
      const number = this.numberOf(one.message)
      if (!this.handled.has(key)) this.handled.set(key, number)
      await hold('begin')
      const running = this.#effects.during(key, async () => run(context))
      const ended = Promise.allSettled([running]).finally(() => this.#handlers.delete(ended))
      this.#handlers.add(ended)
      const result = await running
      if (Skipped.reasonOf(result) !== undefined) this.skipped.add(number)
      await hold('end')
      return result
    }
  }
}

export interface Process {
  readonly running: Running
  /** The broker delivers nothing more to it, the server rolls back what it had open, and no call of it arrives. */
  die(): void
}

/** A store that answers no process that is dead. */
function untilDeath<S extends Store<unknown>>(store: S, life: { readonly isOver: boolean }): S {
  return new Proxy(store, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name, target)
      if (typeof found !== 'function') return found
      return (...given: unknown[]): unknown =>
        life.isOver ? new Promise(() => {}) : (Reflect.apply(found, target, given) as unknown)
    },
  })
}
