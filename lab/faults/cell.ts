import type { Anomaly } from '../../testing/checker/anomaly.ts'
import type { Demands } from './demands.ts'
import type { Fault } from './fault.ts'
import type { MessageDoes } from './message.ts'
import type { Step } from './moment.ts'
import type { WorkerTuning } from './settings.ts'
import type { Strategy } from './strategy.ts'

/** One fault at one step of one message, under one strategy, on one broker: what is done, and what must come of it. */
export interface Cell extends Demands {
  readonly name: string
  readonly faultId: FaultId
  readonly step: Step | undefined
  readonly strategy: Strategy
  readonly broker: BrokerName
  readonly fault: Fault
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

/** A family of faults, as it is numbered in the report: `F1`, `F2`, ... */
export type FaultId = `F${number}`
export type BrokerName = 'kafka' | 'rabbitmq'

export type Beside = 'second topic' | 'retry topic'

export const BROKERS: readonly BrokerName[] = ['kafka', 'rabbitmq']

/**
 * `1`: one effect. `1s`: one, and what came after the mark was settled as duplicate. `B`: one, after a wait for the lease of
 * an owner that was gone. `D`: more than one was accepted. `k`: called again, accepted once. `in doubt`: parked for a person,
 * at most one effect. `dead-lettered`: given up, no effect. `lost`: no effect, and nothing in the dead-letter place.
 */
export type Outcome = '1' | '1s' | 'B' | 'D' | 'k' | 'in doubt' | 'dead-lettered' | 'lost'
