import type { RabbitConnect, RabbitOptions } from '../../../adapters/amqplib/index.ts'
import type { KafkaLike } from '../../../adapters/kafkajs/index.ts'
import type { BatchItem, ConsumerSettings, HandlerContext, Running, Store } from '../../../src/index.ts'
import type { Publisher } from '../../../src/internal.ts'
import type { Observed } from './observed.ts'
import type { Order } from './protocol.ts'
import type { WorkerSpec } from './spec.ts'

/**
 * What a laboratory adds to the worker: the default export of a module, called once, before the worker opens anything. An
 * error ends the process.
 */
export type WorkerModule<Settings, Report, Payload> = (worker: Worker<Settings, Report>) => WorkerHooks<Payload>

/** The worker, as its module sees it. */
export interface Worker<Settings, Report> {
  readonly spec: WorkerSpec<Settings>
  /** It has left the process when this returns. */
  report(report: Report): void
  /** Reports an event as a worker without its own `observe` does. */
  reportObserved(what: Observed | undefined): void
  /** Resolves when it is given. */
  ordered(order: Order): Promise<void>
}

/** Functions that the module gives. All are optional, except the handler of a worker that has a source. */
export interface WorkerHooks<Payload> {
  /** The options of the consumer that are functions. */
  readonly consumer?: WorkerFunctions<Payload>
  readonly lane?: NonNullable<RabbitOptions['lane']>
  /** Wrappers of the store, the publisher and the client. Drop-ins have only the first. */
  readonly store?: <Tx>(store: Store<Tx>) => Store<Tx>
  readonly publisher?: (publisher: Publisher) => Publisher
  readonly kafka?: (client: KafkaLike) => KafkaLike
  readonly rabbit?: (url: string) => RabbitConnect
  /** It consumes. */
  readonly running?: (consumers: readonly Started[]) => void
  /** Called before the worker reports that it has stopped. */
  readonly stopped?: () => void
}

/** A consumer that was started; without health if it is a drop-in. */
export type Started = Pick<Running, 'ready' | 'stop'> & Partial<Pick<Running, 'health'>>

/** Operations of every store transaction. */
export interface WorkerTransaction {
  query(text: string, values: readonly unknown[]): Promise<unknown>
}

/** With a fence of a lease, with a transaction of an inbox or of offsets. */
export type WorkerContext<Payload> = Pick<
  HandlerContext<Payload, WorkerTransaction>,
  'payload' | 'message' | 'attempt' | 'signal' | 'idempotencyKey' | 'publish'
> & { readonly fence?: number; readonly tx?: WorkerTransaction }

interface WorkerBatch<Payload> {
  readonly messages: readonly BatchItem<Payload, WorkerTransaction>[]
  readonly tx?: WorkerTransaction
}

/** Default of `observe`: reports everything except figures */
export type WorkerFunctions<Payload> = Pick<
  ConsumerSettings<Payload, Payload, WorkerTransaction>,
  'id' | 'decode' | 'observe'
> &
  (
    | { readonly handle: (context: WorkerContext<Payload>) => unknown }
    | { readonly handleBatch: (context: WorkerBatch<Payload>) => unknown }
  )
