import type { KafkaSpec } from '../kit/worker/spec.ts'

/** What is compared, in the order of the table. */
export const CONTENDERS = ['kafkajs', 'platformatic', 'platformatic-kip848'] as const
export type Contender = (typeof CONTENDERS)[number]

/** In this order in each round. With `nothing` the pauses are those of the machine. */
export const HAPPENINGS = ['nothing', 'joins', 'leaves', 'killed'] as const
export type Happening = (typeof HAPPENINGS)[number]

/** How many members the partitions are dealt out to afterwards. */
export const MEMBERS: Readonly<Record<Happening, number>> = { nothing: 3, joins: 4, leaves: 3, killed: 2 }

export const PARTITIONS = 12
/** Between two messages of a partition. */
export const EVERY_MS = 50
export const HANDLER_MS = 10
/** Of a partition, so that on a busy machine messages wait for each other less. */
export const KEYS = 10
/** The default of the library, with each client. */
export const HEARTBEAT_MS = 3_000
/** Also a lease, as by default. A third of the default, so that a round takes a minute. */
export const SESSION_MS = 10_000

/** By KIP-848 the session is a setting of the broker. */
export const SESSIONS: Readonly<Record<string, string>> = {
  'group.consumer.min.session.timeout.ms': String(SESSION_MS),
  'group.consumer.session.timeout.ms': String(SESSION_MS),
}

/** One message. */
export interface Numbered {
  readonly id: string
  readonly partition: number
  readonly number: number
}

/** What a worker says of a message. */
export type Told =
  | { readonly handled: Numbered; readonly at: number }
  /** A delivery that ended without a run of the handler. */
  | { readonly again: string; readonly at: number }

export function sourceOf(
  contender: Contender,
  place: { readonly brokers: readonly string[]; readonly topic: string; readonly group: string },
): KafkaSpec {
  const { brokers, topic, group } = place
  return {
    kind: 'kafka',
    library: contender === 'kafkajs' ? 'kafkajs' : 'platformatic',
    brokers,
    options: {
      topics: [topic],
      group,
      consumerConfig: {
        sessionTimeout: SESSION_MS,
        rebalanceTimeout: SESSION_MS,
        heartbeatInterval: HEARTBEAT_MS,
        ...(contender === 'platformatic-kip848' && { groupProtocol: 'consumer' as const }),
      },
    },
  }
}
