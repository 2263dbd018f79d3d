import type { Capacity, Delivery } from '../../../src/ports/source.ts'
import type { SimProcess } from '../../../testing/sim/process.ts'
import { subjectOf } from '../../../testing/sim/sim-broker.ts'
import type { SimWorker, WorkerParts } from '../../../testing/sim/worker.ts'
import type { NaiveStore } from './naive-store.ts'

/** One message, as a consumer written by hand sees it. */
interface Taken {
  readonly id: string
  readonly store: NaiveStore
  /** Calls the provider. Rejects if the work fails or the provider does not answer. */
  readonly handle: () => Promise<void>
  readonly ack: () => void
  /** Asks for the message again. */
  readonly nack: () => void
}

export type NaiveConsumer = (taken: Taken) => Promise<void>

const AGAIN_MS = 50

/** The simulated brokers bound themselves by their prefetch. */
const CAPACITY: Capacity = {
  maxInFlight: 100,
  handlers: 100,
  claims: 100,
  leaseMs: 1_000,
  longestRunMs: 2_000,
  maxAttempts: 5,
}

/** A consumer without the library, with the same broker, provider and faults. */
export class NaiveWorker implements SimWorker {
  readonly process: SimProcess
  readonly #parts: WorkerParts
  readonly #store: NaiveStore
  readonly #consume: NaiveConsumer
  readonly #running = new Set<Promise<void>>()
  readonly #source: ReturnType<WorkerParts['broker']['join']>
  #isStopping = false

  constructor(process: SimProcess, parts: WorkerParts, store: NaiveStore, consume: NaiveConsumer) {
    this.process = process
    this.#parts = parts
    this.#store = store
    this.#consume = consume
    this.#source = parts.broker.join(process)
  }

  get isUp(): boolean {
    return !this.process.isDead && !this.#isStopping
  }

  get isIdle(): boolean {
    return this.#running.size === 0
  }

  async start(): Promise<void> {
    await this.#source.open({
      capacity: CAPACITY,
      deliver: (deliveries) => {
        for (const delivery of deliveries) this.#take(delivery)
      },
      standingChanged: () => {},
      report: () => {},
    })
  }

  async stop(): Promise<void> {
    if (!this.isUp) return
    this.#isStopping = true
    await this.#source.stopIntake()
    await Promise.all(this.#running)
    await this.#source.close()
    this.process.die()
  }

  #take(delivery: Delivery): void {
    const { headers, value } = delivery.message
    const id = String(headers['id'])
    const effect = {
      subject: subjectOf(this.#parts.broker.group, id),
      print: Buffer.from(value ?? '').toString(),
      token: this.#parts.newToken(),
    }
    const running = this.#consume({
      id,
      store: this.#store,
      handle: () => this.#handle(effect),
      ack: () => void delivery.settle(),
      nack: () => this.#again(delivery),
    }).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** A queue takes the message back. In a log the consumer itself tries again. */
  #again(delivery: Delivery): void {
    if (delivery.handBack !== undefined) delivery.handBack()
    else {
      this.process.after(AGAIN_MS, () => {
        if (delivery.standing() === 'current' && !this.#isStopping) this.#take(delivery)
      })
    }
  }

  async #handle(effect: Effect): Promise<void> {
    const { stage, provider } = this.#parts
    const { subject, token } = effect
    stage.record(this.process.name, { f: 'hstart', ...effect })
    try {
      await this.#work()
      if (stage.faults.happens('handlerFails')) throw new Error('broken')
      await this.#step('before the effect')
      await provider.call(this.process, effect, subject)
      await this.#step('after the effect')
      await this.#work()
      stage.record(this.process.name, { f: 'hend', subject, token, how: 'ok' })
    } catch (error) {
      // Written by hand: an unknown answer is handled as a failure.
      stage.record(this.process.name, { f: 'hend', subject, token, how: 'failed' })
      throw error
    }
  }

  #work(): Promise<void> {
    const { stage, plan } = this.#parts
    const forMs = stage.faults.happens('handlerSlow')
      ? stage.chance.between(50, 1_500)
      : stage.chance.below(plan.workMs)
    return new Promise((resolve) => void this.process.after(forMs, resolve))
  }

  #step(name: string): Promise<void> {
    return new Promise((resolve) => this.#parts.stage.step(this.process, name, resolve))
  }
}

type Effect = Parameters<WorkerParts['provider']['call']>[1]
