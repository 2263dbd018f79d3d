import type { Anomaly } from '../../testing/checker/anomaly.ts'
import type { Demands } from './demands.ts'
import type { Fault } from './fault.ts'
import type { MessageDoes } from './message.ts'
import type { Step } from './moment.ts'
import type { WorkerTuning } from './settings.ts'
import type { Strategy } from './strategy.ts'

/** One cell of the fault matrix: one fault at one step of one message, under one strategy, on one broker, and the outcome it must have. */
export interface Cell extends Demands {
  readonly name: string
  readonly faultId: FaultId
  readonly step: Step | undefined
  readonly strategy: Strategy
  readonly broker: BrokerName
  readonly fault: Fault
  /** Allowed outcomes. Any other outcome is a failure. */
  readonly expects: readonly Outcome[]
  /** Anomalies that the fault explains, in addition to those that the promise of the strategy admits. */
  readonly admitted?: readonly Anomaly[]
  /** The anomaly that marks the limit of the promise: the checker must find it. */
  readonly mustShow?: Anomaly
  readonly message?: MessageDoes
  /** Number of messages sent with the target. @defaultValue 0 */
  readonly crowd?: number
  /** What the handler does with each of them. @defaultValue its effect */
  readonly crowdDoes?: MessageDoes
  /** What it does with one of them, counted from 1. */
  readonly oneOfCrowd?: { readonly number: number; readonly does: MessageDoes }
  /**
   * Kafka: several producers write to the topic in turn. Two commit their transactions, one aborts each, one stays open until the end,
   * and one is lost with its transaction open.
   */
  readonly isTransactional?: boolean
  /** Number of workers that run before the first message is sent. @defaultValue 1 */
  readonly members?: number
  /** Number of messages sent after the fault has healed. @defaultValue 1 */
  readonly neighbours?: number
  /** Kafka: a second topic that the worker consumes and that stays empty. */
  readonly beside?: Beside
  /** The producer sends the target once more after the fault has healed. */
  readonly isSentAgain?: boolean
  readonly tuning?: WorkerTuning
}

/** A family of faults, as it is numbered in the report: `F1`, `F2`, ... */
export type FaultId = `F${number}`
export type BrokerName = 'kafka' | 'rabbitmq'

export type Beside = 'second topic' | 'retry topic'

export const BROKERS: readonly BrokerName[] = ['kafka', 'rabbitmq']

/**
 * `1`: one effect. `1s`: one effect, and a delivery after the mark was settled as a duplicate. `B`: one effect, after waiting
 * for the lease of an owner that was gone. `D`: more than one effect. `k`: called again, accepted once. `in doubt`: parked for
 * a person, at most one effect. `dead-lettered`: given up, no effect. `lost`: no effect and no dead letter.
 */
export type Outcome = '1' | '1s' | 'B' | 'D' | 'k' | 'in doubt' | 'dead-lettered' | 'lost'
