import { defineConsumer, redefined } from '../../src/consumer/define-consumer.ts'
import { NoEffectError, OutcomeUnknownError, TerminalError } from '../../src/foundation/errors.ts'
import type { Running } from '../../src/ports/lifecycle.ts'
import { messageId } from '../../src/identity/message-id.ts'
import type { BatchContext, ConsumerSettings } from '../../src/consumer/options.ts'
import type { Message } from '../../src/ports/message.ts'
import type { ObserverEvent } from '../../src/ports/observer.ts'
import type { Store } from '../../src/ports/store.ts'
import { runConsumer } from '../../src/run/run.ts'
import type { Happening } from '../history.ts'
import { FaultyStore, type Names } from './faulty-store.ts'
import type { SimulatedHandler } from './handler.ts'
import { holdAfterOf, type Plan } from './plan.ts'
import type { SimProcess } from './process.ts'
import type { Effected, Provider } from './provider.ts'
import { subjectOf, type SimBroker } from './sim-broker.ts'
import type { Stage } from './stage.ts'
import type { EffectTx } from './store-server.ts'

export const CONSUMER = 'consumer'

const HANDLER_TIMEOUT_MS = 500
const GRACE_MS = 200
const STOP_DEADLINE_MS = 500
/** Deadline and grace of its handlers, plus the latency to a server in both directions. */
const STOPS_WITHIN_MS = STOP_DEADLINE_MS + GRACE_MS + 2_000

export interface WorkerParts {
  readonly stage: Stage
  readonly plan: Plan
  readonly broker: SimBroker
  readonly provider: Provider
  readonly names: Names
  /** Each process has its own connection. */
  readonly connect: (process: SimProcess) => Store<EffectTx>
  readonly newToken: () => string
  /** Instead of the usual one. */
  readonly handle: SimulatedHandler | undefined
}

/** A consumer in a process of its own. */
export interface SimWorker {
  readonly process: SimProcess
  readonly isUp: boolean
  /** Nothing of it is in flight. */
  readonly isIdle: boolean
  start(): Promise<void>
  /** Stops it, as a deployment does. */
  stop(): Promise<void>
}

/** The true result of a run of the handler. */
type Truth = 'ok' | 'failed' | 'unknown'

interface Handled {
  readonly message: Message
  readonly idempotencyKey: string
}

/** One consumer in one process: the library's own code between a broker and a store with faults. */
export class Worker implements SimWorker {
  readonly process: SimProcess
  readonly #parts: WorkerParts
  readonly #store: FaultyStore<EffectTx>
  #running: Running | undefined
  #calls = 0
  #isStopping = false

  constructor(process: SimProcess, parts: WorkerParts) {
    this.process = process
    this.#parts = parts
    const { plan, stage, names, connect } = parts
    // For half of the schedules. Not drawn at random, so that every seed keeps its schedule.
    const inOrder = plan.messages % 2 === 0
    this.#store = new FaultyStore(connect(process), { process, stage, names, inOrder })
  }

  get isUp(): boolean {
    return !this.process.isDead && !this.#isStopping
  }

  get isIdle(): boolean {
    return this.#running?.health().checks['handlers'] === '0 in flight'
  }

  async start(): Promise<void> {
    const { plan, broker, stage, newToken } = this.#parts
    const source = broker.join(this.process)
    const settings: Omit<ConsumerSettings<unknown, unknown, EffectTx>, 'rememberResult' | 'rememberFailure'> = {
      name: CONSUMER,
      ...(plan.promised === 'offsets' ? {} : { id: messageId.header('id') }),
      store: this.#store as Store<EffectTx>,
      decode: () => undefined,
      concurrency: plan.concurrency,
      transactions: plan.concurrency,
      batchSize: plan.maxAttempts === 1 ? 1 : plan.batchSize,
      leaseMs: plan.leaseMs,
      handlerTimeoutMs: HANDLER_TIMEOUT_MS,
      graceMs: GRACE_MS,
      retentionMs: plan.retentionMs,
      maxAttempts: plan.maxAttempts,
      ...(plan.promised === 'lease, park' ? ({ onInDoubt: 'park' } as object) : {}),
      backoff: { initialMs: 10, maxMs: 100 },
      observe: (event) => this.#observe(event),
    }
    const consumer =
      plan.handler === 'handle'
        ? defineConsumer({
            ...settings,
            handle: (context) => this.#handle(context, this.#effected(context.message), context.signal, context.tx),
          })
        : defineConsumer({ ...settings, handleBatch: (context) => this.#handleAll(context) })
    const entropy = { fraction: () => stage.chance.fraction(), ownerToken: newToken }
    const { clock } = this.process
    const holdAfter = holdAfterOf(plan)
    const held = holdAfter === undefined ? consumer : redefined(consumer, { holdAfter })
    this.#running = await runConsumer(held, { source, publisher: source, clock, entropy })
  }

  async stop(): Promise<void> {
    if (!this.isUp || this.#running === undefined) return
    this.#isStopping = true
    const number = ++this.#calls
    this.#record({ f: 'call', type: 'invoke', call: 'stop', number, withinMs: STOPS_WITHIN_MS })
    await this.#running.stop({ deadlineMs: STOP_DEADLINE_MS })
    this.#record({ f: 'call', type: 'ok', call: 'stop', number })
    this.process.die()
  }

  async #handleAll({ messages, signal, tx }: BatchContext<unknown, EffectTx>): Promise<void> {
    // All under the claims with which they began: a late one may have been claimed anew meanwhile.
    const begun = messages.map((item) => ({ item, of: this.#effected(item.message) }))
    for (const [index, { item, of }] of begun.entries()) {
      try {
        await this.#handle(item, of, signal, tx)
      } catch (error) {
        // Under a lease the earlier effects of the batch are not undone.
        const isHalfDone = index > 0 && this.#store.strategy === 'lease'
        throw isHalfDone ? new OutcomeUnknownError('half done', { cause: error }) : error
      }
    }
  }

  async #handle({ message, idempotencyKey }: Handled, of: Effected, signal: AbortSignal, tx?: EffectTx): Promise<void> {
    this.#record({ f: 'hstart', ...of })
    let truth: Truth = 'failed'
    const apply = async (): Promise<void> => {
      await this.#step('before the effect')
      truth = 'unknown'
      try {
        if (tx === undefined) await this.#parts.provider.call(this.process, of, idempotencyKey)
        else await tx.insert(of)
      } catch (error) {
        if (error instanceof TerminalError) truth = 'failed'
        throw error
      }
      await this.#step('after the effect')
    }
    const wait = (ms: number): Promise<void> => this.#wait(ms)
    try {
      await (this.#parts.handle ?? this.#usual)({ message, signal, idempotencyKey, apply, wait })
      this.#ended(of, 'ok')
    } catch (error) {
      this.#ended(of, truth)
      throw error
    }
  }

  /** A correct handler, whose work may fail, be slow, or ignore its signal. */
  readonly #usual: SimulatedHandler = async ({ signal, apply }) => {
    const { stage, plan } = this.#parts
    const { faults, chance } = stage
    const ignoresAbort = chance.happens(plan.ignoresAbort)
    await this.#work()
    if (faults.happens('handlerFails')) throw chance.happens(0.3) ? new TerminalError('no use') : new Error('broken')
    if (signal.aborted && !ignoresAbort) {
      throw chance.happens(0.5) ? new NoEffectError('asked to stop') : new Error('asked to stop')
    }
    try {
      await apply()
    } catch (error) {
      if (error instanceof TerminalError) throw error
      throw new OutcomeUnknownError('the provider did not answer', { cause: error })
    }
    await this.#work()
    // Throws as a client with the signal does, whatever happened to its request.
    if (signal.aborted && !ignoresAbort) throw new Error('aborted')
  }

  #work(): Promise<void> {
    const { stage, plan } = this.#parts
    const { faults, chance } = stage
    return this.#wait(faults.happens('handlerSlow') ? chance.between(50, 1_500) : chance.below(plan.workMs))
  }

  #effected(message: Message): Effected {
    const subject = this.#subjectOf(message) ?? 'nobody'
    return { subject, print: printOf(message), token: this.#store.tokenOf(subject) }
  }

  #subjectOf({ headers, position }: Message): string | undefined {
    const { plan, broker } = this.#parts
    if (plan.promised === 'offsets') return position
    const id = headers['id']
    return typeof id === 'string' ? subjectOf(broker.group, id) : undefined
  }

  #ended({ subject, token }: Effected, how: Truth): void {
    this.#record({ f: 'hend', subject, token, how })
  }

  #step(name: string): Promise<void> {
    return new Promise((resolve) => this.#parts.stage.step(this.process, name, resolve))
  }

  #wait(forMs: number): Promise<void> {
    return new Promise((resolve) => void this.process.after(forMs, resolve))
  }

  #observe(event: ObserverEvent): void {
    if (this.process.isDead) return
    if (event.type === 'in-doubt' || event.type === 'beyond-retention') this.#tell(event.type, event.message)
    if (event.type !== 'delivery') return
    this.#tell(event.outcome === 'settle-refused' ? (event.refused ?? event.outcome) : event.outcome, event.message)
  }

  #tell(what: string, message: Message): void {
    const subject = this.#subjectOf(message)
    this.#record({ f: 'tell', what, subject, print: printOf(message), place: message.position })
  }

  #record(happening: Happening): void {
    if (!this.process.isDead) this.#parts.stage.record(this.process.name, happening)
  }
}

function printOf({ value }: Message): string {
  return Buffer.from(value ?? '').toString()
}
