import type { Beside } from '../cell.ts'
import type { FaultMessage } from '../message.ts'
import type { Recorder } from '../recorder.ts'
import type { SourceSpec } from '../../kit/worker/spec.ts'

/** Queue, or topic and group, of one cell. */
export interface BrokerPlace {
  /** Queue or consumer group; with `origin`, queue or topic, it is part of every key. */
  readonly group: string
  readonly origin: string
  readonly port: number
  /** Source of a worker that reaches the broker through this port. */
  readonly worker: (port: number) => SourceSpec
  readonly placeOf: (send: number) => string
  /** Kafka: the offset of a send in its log. */
  readonly offsetOf?: (send: number) => number
  /** Kafka: the current log of the topic, and the number of its first send. A recreated topic has a new log. */
  readonly log?: () => { readonly partition: string; readonly firstSend: number }
}

/** A message in the dead-letter place. */
export interface DeadLetter {
  readonly send: string
  readonly isParked: boolean
  readonly reason: string
}

/** For places with transactional producers. */
interface TransactionalSends {
  /** Commits what was sent together. */
  commit(place: BrokerPlace): Promise<void>
  /** Commits the transaction that stayed open. */
  end(place: BrokerPlace): Promise<void>
}

export interface TopicFaults {
  deleteBeside(place: BrokerPlace): Promise<void>
  /** `sent`: number of messages sent before. */
  recreate(place: BrokerPlace, sent: number): Promise<void>
}

export interface BrokerSide extends AsyncDisposable {
  /** Kafka only. */
  readonly topics?: TopicFaults
  /** Kafka only. */
  readonly transactions?: TransactionalSends
  /** Product and version, such as `RabbitMQ 3.10.8`. */
  readonly version: string
  /** @param lateSend - producers are transactional, and the transaction of this send stays open */
  newPlace(beside?: Beside, lateSend?: number): Promise<BrokerPlace>
  /** Resolves when the broker has confirmed it. */
  send(place: BrokerPlace, message: FaultMessage): Promise<void>
  /** The broker has nothing left for the group; `sent` messages were sent. */
  isDrained(place: BrokerPlace, sent: number, recorder: Recorder): Promise<boolean>
  /**
   * Messages left when no worker runs any more. Without dead letters their queue is not read: a quorum queue declared right before its
   * broker was killed may have no leader, and does not answer.
   */
  left(
    place: BrokerPlace,
    sent: number,
    hasDeadLetters: boolean,
  ): Promise<{ readonly unsettled: readonly string[]; readonly deadLetters: readonly DeadLetter[] }>
}
