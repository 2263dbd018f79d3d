import type { RabbitOptions } from '../../../adapters/amqplib/index.ts'
import { FAST } from '../../../test/kafka/kit.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import type { ConsumerSpec, KafkaSpec, SourceSpec, StoreSpec } from '../worker/spec.ts'
import { WorkerProcess } from '../worker/worker-process.ts'
import type { CrashPoint, MortalSettings, WorkerEvent } from './settings.ts'

export type { CrashPoint, WorkerEvent, WorkerMessage } from './settings.ts'

/** Settings of every worker, independent of its broker. */
interface MortalConfig
  extends MortalSettings, Partial<Pick<ConsumerSpec, 'name' | 'leaseMs' | 'maxAttempts' | 'onInDoubt'>> {
  /** A store of strategy `inbox` or `offsets`, with a table `effect (name)` in its schema or database. */
  readonly store: StoreSpec
}

/** A worker whose messages say what its handlers do. An unhandled rejection ends it. */
class MortalWorker extends WorkerProcess<WorkerEvent> {
  readonly events: WorkerEvent[]

  constructor(sources: readonly SourceSpec[], config: MortalConfig) {
    const { store, dieAt, leaseMs = 1_500, maxAttempts = 5, name = 'worker', onInDoubt } = config
    const backoff = { initialMs: 5, maxMs: 20 }
    const spec = {
      process: uniqueName('worker'),
      sources,
      store,
      consumer: { name, leaseMs, maxAttempts, backoff, ...(onInDoubt && { onInDoubt }) },
      settings: (dieAt === undefined ? {} : { dieAt }) satisfies MortalSettings,
      stopDeadlineMs: 20_000,
    }
    const events: WorkerEvent[] = []
    super(new URL('module.ts', import.meta.url), spec, (line) => {
      if (line.says === 'report') events.push(line.report)
      else if (line.says === 'observed') events.push({ what: line.what, about: line.id ?? line.detail ?? '' })
      else events.push({ what: line.says, about: '' })
    })
    this.events = events
  }

  told(what: string): readonly string[] {
    return this.events.filter((event) => event.what === what).map(({ about }) => about)
  }

  /** Rejects when the process ends before. */
  async untilTold(what: string, times = 1): Promise<void> {
    const isTold = (): boolean => this.told(what).length >= times
    await this.until(() => isTold() || this.hasEnded)
    if (!isTold()) throw new Error(`the worker ended before it told ${what}: ${await this.ended} ${this.lastWords}`)
  }

  /** Ends the handlers that wait. */
  letGo(): void {
    this.order('let go')
  }

  /** Stops its consumer in order. Rejects when the process ends in another way. */
  async stop(): Promise<void> {
    this.order('stop')
    const end = await this.ended
    if (end !== 'exit code 0') throw new Error(`the worker was told to stop and ended by ${end}: ${this.lastWords}`)
  }
}

export interface KafkaConfig extends MortalConfig, Pick<KafkaSpec, 'dropIn'> {
  readonly brokers: readonly string[]
  readonly topics: readonly string[]
  readonly groupId: string
  readonly sessionTimeoutMs: number
}

/** Steps of a Kafka message without retry topics, independent of its store. */
export type KafkaCrashPoint = Exclude<CrashPoint, 'before the handler' | 'after the release' | 'after the copy'>

export class KafkaWorker extends MortalWorker {
  constructor({ brokers, topics, groupId, sessionTimeoutMs, dropIn, ...config }: KafkaConfig) {
    const consumerConfig = {
      ...FAST.consumerConfig,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
    }
    const source = {
      kind: 'kafka',
      brokers,
      client: { retry: { initialRetryTime: 50 } },
      options: { ...FAST, topics, group: groupId, consumerConfig },
      ...(dropIn && { dropIn }),
    } as const
    super([source], config)
  }
}

export interface RabbitConfig extends MortalConfig {
  readonly url: string
  /** For a consumer each. */
  readonly options: readonly RabbitOptions[]
}

export class RabbitWorker extends MortalWorker {
  constructor({ url, options, ...config }: RabbitConfig) {
    super(
      options.map((each) => ({ kind: 'rabbitmq', url, options: each })),
      config,
    )
  }
}
