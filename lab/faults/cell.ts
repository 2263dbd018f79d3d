import type { Anomaly } from '../../testing/checker/anomaly.ts'
import type { WorkerTuning } from './worker/settings.ts'
import type { MessageDoes } from './message.ts'
import type { ServerHarm } from './server-harm/server-harm.ts'
import type { Demands } from './demands.ts'

/** One fault at one step of one message, under one strategy, on one broker: what is done, and what must come of it. */
export interface Cell extends Demands {
  readonly name: string
  readonly fault: FaultNumber
  readonly step: Step | undefined
  readonly strategy: Strategy
  readonly broker: BrokerName
  readonly harm: Harm
  /** Any of these. What else it shows is a failure. */
  readonly expects: readonly Outcome[]
  /** What the harm explains beside what the strategy's promise admits. */
  readonly admitted?: readonly Anomaly[]
  /** What it shows that the promise has as its limit: it must be found. */
  readonly mustShow?: Anomaly
  readonly message?: MessageDoes
  /** So many more are sent with it. @defaultValue 0 */
  readonly crowd?: number
  /** What the handler does with each of the crowd. @defaultValue its effect */
  readonly crowdDoes?: MessageDoes
  /** So many are sent when the harm is over. @defaultValue 1 */
  readonly neighbours?: number
  /** Kafka: a topic that the worker consumes beside that of the messages, and that nothing is sent to. */
  readonly beside?: Beside
  /** The producer sends the same message once more, when it is over. */
  readonly isSentAgain?: boolean
  readonly tuning?: WorkerTuning
}

export type FaultNumber = `F${number}`
export type BrokerName = 'kafka' | 'rabbitmq'

export type Beside = 'second topic' | 'retry topic'

/**
 * `lease-keyed`: the effect carries `ctx.idempotencyKey` to a provider that knows keys. `lease-postgres` and `lease-replicas` rerun
 * what is in doubt: leases in Postgres, and in a Redis whose marks wait for a replica.
 */
export type Strategy =
  | 'inbox'
  | 'lease-rerun'
  | 'lease-keyed'
  | 'lease-park'
  | 'lease-postgres'
  | 'lease-replicas'
  | 'offsets'

export const STRATEGIES: readonly Strategy[] = [
  'inbox',
  'lease-rerun',
  'lease-keyed',
  'lease-park',
  'lease-postgres',
  'lease-replicas',
  'offsets',
]
export const BROKERS: readonly BrokerName[] = ['kafka', 'rabbitmq']

/** Places in the way of a message, as they are seen between a worker and its servers. */
export type Moment =
  | 'delivered'
  | 'claim sent'
  | 'claimed'
  | 'effect sent'
  | 'effect applied'
  | 'mark sent'
  | 'marked'
  | 'settle sent'
  | 'settled'
  | 'copy sent'
  | 'copied'

export type Step = 'S0' | 'S1' | 'S2' | 'S3' | 'S4' | 'S5' | 'S6' | 'S7'

export const MOMENT_OF: Readonly<Record<Step, Moment>> = {
  S0: 'delivered',
  S1: 'claim sent',
  S2: 'claimed',
  S3: 'effect applied',
  S4: 'mark sent',
  S5: 'marked',
  S6: 'settle sent',
  S7: 'settled',
}

export const STEPS: readonly Step[] = ['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7']

/** What is done when the moment of the first message is seen. */
export type Harm =
  /** SIGKILL. What was on its way to a server arrives, or does not. */
  | {
      readonly kind: 'kill'
      readonly at: Moment
      readonly request: 'arrives' | 'is lost'
      /** Until the next one is started. @defaultValue 0 */
      readonly awayMs?: number
    }
  /** SIGSTOP for longer than the lease. What was on its way arrives before the pause, or after it. */
  | { readonly kind: 'freeze'; readonly at: Moment; readonly request: 'arrives' | 'is held' }
  /** The connection is lost, and these bytes with it. */
  | { readonly kind: 'lose'; readonly at: Moment }
  /** Nothing comes through that connection for a while, and nothing says so; then it is lost. */
  | { readonly kind: 'swallow'; readonly at: Moment }
  /** All connections of the worker to the broker are lost; with `again`, so many times more. */
  | { readonly kind: 'close-channel'; readonly at: Moment; readonly again?: { times: number; everyMs: number } }
  /** Nothing comes through between the worker and its store, and nothing says so, for longer than the lease. The broker stays reachable. */
  | { readonly kind: 'cut-off-store'; readonly at: Moment }
  /** The broker refuses the commit: on its way it was made one of a partition that does not exist. */
  | { readonly kind: 'refuse-commit'; readonly at: 'settle sent' }
  /** Another member joins the group, or takes from the queue. `storm`: three do, and leave again. */
  | { readonly kind: 'rebalance'; readonly at: Moment; readonly guests: 'stays' | 'storm' }
  | ServerHarm
  /** Nothing from outside: the message itself, or the worker's clock, is the fault. */
  | { readonly kind: 'none' }

/**
 * `1`: one effect. `1s`: one, and what came after the mark was settled as duplicate. `B`: one, after a wait for the lease of
 * an owner that was gone. `D`: more than one was accepted. `k`: called again, accepted once. `in doubt`: parked for a person,
 * at most one effect. `dead-lettered`: given up, no effect. `lost`: no effect, and nothing in the dead-letter place.
 */
export type Outcome = '1' | '1s' | 'B' | 'D' | 'k' | 'in doubt' | 'dead-lettered' | 'lost'
