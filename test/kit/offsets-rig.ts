import { defineConsumer } from '../../src/consumer/define-consumer.ts'
import type { Running } from '../../src/ports/lifecycle.ts'
import type { ConsumerSettings } from '../../src/consumer/options.ts'
import type { ObserverEvent } from '../../src/ports/observer.ts'
import { runConsumer } from '../../src/run/run.ts'
import { MemoryOffsets } from '../../testing/stores/memory-offsets.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { OffsetsDatabase } from '../../testing/stores/offsets-database.ts'
import { LogSource } from './log-source.ts'
import { ManualClock, turns } from './manual-clock.ts'
import { scriptedStore, type ScriptedStore } from './scripted-store.ts'

const SCOPE = 'group/consumer'

/** State that outlives processes. */
export class OffsetsWorld {
  readonly clock: ManualClock = new ManualClock()
  readonly database: OffsetsDatabase = new OffsetsDatabase()
  /** Payloads by offset, by stream. */
  readonly log: Map<string, Map<bigint, unknown>> = new Map()
  readonly #processes = new Set<OffsetsProcess>()

  async start(options: ProcessOptions = {}): Promise<OffsetsProcess> {
    const process = new OffsetsProcess(this, options)
    await process.start()
    this.#processes.add(process)
    return process
  }

  /** The stored position of a stream. */
  row(stream: string): ReturnType<OffsetsDatabase['rows']['get']> {
    return this.database.rows.get(this.database.nameOf(SCOPE, stream))
  }

  loseRow(stream: string): void {
    this.database.rows.delete(this.database.nameOf(SCOPE, stream))
  }

  /** Writes to the broker; every reader of the stream gets it. */
  async append(stream: string, ...payloads: readonly string[]): Promise<void> {
    const messages = this.log.get(stream) ?? new Map<bigint, unknown>()
    this.log.set(stream, messages)
    let offset = [...messages.keys()].reduce((high, one) => (one >= high ? one + 1n : high), 0n)
    for (const payload of payloads) messages.set(offset++, payload)
    for (const { source } of this.#processes) source.fetch(stream)
    await turns(30)
  }

  /** Stops every process, and finds what a stop left behind. */
  async end(): Promise<void> {
    for (const process of this.#processes) {
      process.store.isDown = false
      const stopping = process.running.stop({ deadlineMs: 0 }).catch(() => {})
      await this.clock.advance(60_000)
      await stopping
    }
    if (this.clock.pending > 0) throw new Error(`left behind by a stop: ${this.clock.pending} timers`)
  }
}

type Settings = Omit<
  ConsumerSettings<unknown, unknown, MemoryTx>,
  'store' | 'name' | 'observe' | 'rememberResult' | 'rememberFailure'
>

export interface ProcessOptions extends Settings {
  readonly handler?: 'handle' | 'handleBatch'
  /** Offset that the broker has committed for the group. */
  readonly committed?: ReadonlyMap<string, bigint>
  /** Called before the effect is written. */
  readonly before?: (work: Work) => unknown
}

export interface Work {
  readonly payload: string
  readonly position: string
  readonly attempt: number
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** A consumer whose effect is the payload of each message. */
export class OffsetsProcess {
  readonly source: LogSource
  readonly store: ScriptedStore<MemoryTx>
  readonly events: ObserverEvent[] = []
  /** Payload and attempt of each start of the handler. */
  readonly started: string[] = []
  readonly #world: OffsetsWorld
  readonly #options: ProcessOptions
  readonly #offsets: MemoryOffsets
  #running: Running | undefined

  constructor(world: OffsetsWorld, options: ProcessOptions) {
    this.#world = world
    this.#options = options
    this.source = new LogSource(world.log)
    this.#offsets = new MemoryOffsets({ database: world.database })
    this.store = scriptedStore(this.#offsets)
    for (const [stream, offset] of options.committed ?? []) this.source.committed.set(stream, offset)
  }

  get running(): Running {
    if (this.#running === undefined) throw new TypeError('a process that was not started')
    return this.#running
  }

  async start(): Promise<void> {
    const { before, handler = 'handle', committed: _committed, ...settings } = this.#options
    const work = async (one: Work, tx: MemoryTx): Promise<void> => {
      this.started.push(`${one.payload}${one.attempt}`)
      await before?.(one)
      await tx.insert(one.payload)
    }
    const common = {
      name: 'consumer',
      backoff: { initialMs: 100, maxMs: 100 },
      ...settings,
      store: this.store,
      observe: (event: ObserverEvent) => void this.events.push(event),
    }
    const consumer =
      handler === 'handle'
        ? defineConsumer<unknown, unknown, MemoryTx>({
            ...common,
            handle: ({ payload, message, attempt, idempotencyKey, signal, tx }) =>
              work({ payload: String(payload), position: message.position, attempt, idempotencyKey, signal }, tx),
          })
        : defineConsumer<unknown, unknown, MemoryTx>({
            ...common,
            handleBatch: async ({ messages, signal, tx }) => {
              for (const { payload, message, attempt, idempotencyKey } of messages) {
                await work(
                  { payload: String(payload), position: message.position, attempt, idempotencyKey, signal },
                  tx,
                )
              }
            },
          })
    const { clock } = this.#world
    this.#running = await runConsumer(consumer, { source: this.source, publisher: this.source, clock })
    await turns(30)
  }

  /** Killed: its transactions are rolled back by the server, and nothing of it does anything any more. */
  die(): void {
    this.store.isDown = true
    this.#offsets.die()
    this.source.die()
  }

  outcomes(): string[] {
    return this.events.flatMap((event) => (event.type === 'delivery' ? [event.outcome] : []))
  }
}
