import { eventually, untilResolved } from '../kit/eventually.ts'
import type { Consumer, ConsumerConfig, ConsumerRunConfig } from 'kafkajs'
import type { HandlerContext } from '../../src/index.ts'
import { Cluster } from './kit.ts'

export interface Payload {
  readonly id: string
}

export type Handle = (context: HandlerContext<Payload>) => unknown

export const body = (id: string, more: object = {}): string => JSON.stringify({ id, ...more })

/** Handlers that wait until they are let go, by ID. */
export class Gate {
  readonly runs: string[] = []
  readonly reasons: unknown[] = []
  readonly #waiting = new Map<string, () => void>()

  readonly handle: Handle = async ({ payload: { id }, signal }) => {
    this.runs.push(id)
    signal.addEventListener('abort', () => this.reasons.push(signal.reason))
    await new Promise<void>((resolve) => this.#waiting.set(id, resolve))
  }

  /** Those of these IDs, or all. */
  letGo(...ids: readonly string[]): void {
    for (const id of ids.length === 0 ? this.#waiting.keys() : ids) {
      this.#waiting.get(id)?.()
      this.#waiting.delete(id)
    }
  }

  untilRunning(count: number): Promise<void> {
    return eventually(async () => this.runs.length >= count)
  }
}

interface Crash {
  readonly restart: boolean
  readonly error: Error
}

/** A kafkajs consumer as a user would have one, and what it goes through. */
export class OwnConsumer implements AsyncDisposable {
  readonly consumer: Consumer
  readonly crashes: Crash[] = []
  joins = 0
  /** As of the last join. */
  assignment: Readonly<Record<string, readonly number[]>> = {}
  #isEnding = false

  private constructor(cluster: Cluster, config: ConsumerConfig) {
    this.consumer = cluster.client().consumer({
      sessionTimeout: 6_000,
      rebalanceTimeout: 6_000,
      heartbeatInterval: 150,
      maxWaitTimeInMs: 100,
      metadataMaxAge: 400,
      ...config,
      retry: {
        initialRetryTime: 50,
        maxRetryTime: 200,
        restartOnFailure: async () => !this.#isEnding,
        ...config.retry,
      },
    })
    this.consumer.on('consumer.crash', ({ payload: { restart, error } }) => this.crashes.push({ restart, error }))
    this.consumer.on('consumer.group_join', ({ payload: { memberAssignment } }) => {
      this.joins++
      this.assignment = memberAssignment
      if (this.#isEnding) void this.consumer.disconnect() // Stopped in a restart, kafkajs comes to life again.
    })
  }

  static async run(
    cluster: Cluster,
    { topics, run, ...config }: ConsumerConfig & { topics: string[]; run: ConsumerRunConfig },
  ): Promise<OwnConsumer> {
    const own = new OwnConsumer(cluster, config)
    await own.consumer.connect()
    // A topic that was created a moment ago is not known to every broker yet.
    await untilResolved(() => own.consumer.subscribe({ topics, fromBeginning: true }), 60_000)
    await own.consumer.run(run)
    return own
  }

  stop(): Promise<void> {
    this.#isEnding = true
    return this.consumer.stop()
  }

  /** Leaves nothing behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.consumer.disconnect()
  }
}
