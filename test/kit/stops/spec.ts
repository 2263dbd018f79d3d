import type { KafkaOptions } from '../../../adapters/kafkajs/index.ts'

/** The programs whose life is ended by SIGTERM: that of docs/deploy.md, the short one of the README, and two frameworks. */
export type ProgramName = 'deploy' | 'short' | 'nest' | 'fastify'

interface KafkaPlace {
  readonly kind: 'kafka'
  readonly brokers: readonly string[]
  readonly options: Pick<KafkaOptions, 'commitEveryMs' | 'consumerConfig'>
}

interface RabbitPlace {
  readonly kind: 'rabbitmq'
  readonly url: string
}

/** The `nth` time that something happens in the process. */
export interface Moment {
  readonly what: string
  readonly nth: number
}

/** What a process consumes and when it is told to stop, as JSON in `STOP_SPEC`. */
export interface StopSpec {
  readonly broker: KafkaPlace | RabbitPlace
  /** Topics or queues, each with a consumer. The second one joins last, while handlers of the others run. */
  readonly places: readonly string[]
  readonly redis: { readonly url: string; readonly prefix: string }
  /** It sends itself SIGTERM then, and once more later: nobody else could meet the moment. */
  readonly moment: Moment
  /** The store of the second consumer cannot be opened. @defaultValue false */
  readonly isBroken?: boolean
}

/** A line on stdout. `id`: of a message that begins or ends, or the reason of a fault. */
export interface StopLine {
  readonly what: string
  readonly id?: string
}
