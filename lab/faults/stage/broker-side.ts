import type { Beside } from '../cell.ts'
import type { FaultMessage } from '../message.ts'
import type { Recorder } from '../recorder.ts'
import type { SourceSpec } from '../../kit/worker/spec.ts'

/** What a cell has on its broker: a queue, or a topic and a group. */
export interface BrokerPlace {
  /** Queue or consumer group, and queue or topic: what is part of every key. */
  readonly group: string
  readonly origin: string
  readonly port: number
  /** What a worker is told, that reaches the broker through this port. */
  readonly worker: (port: number) => SourceSpec
  readonly placeOf: (send: number) => string
  /** Kafka: of the log that the topic has now, and the number of its first send. A topic that is created anew has another one. */
  readonly log?: () => { readonly partition: string; readonly firstSend: number }
}

/** A message that lies in the dead-letter place. */
export interface DeadLetter {
  readonly send: string
  readonly isParked: boolean
  readonly reason: string
}

export interface TopicFaults {
  deleteBeside(place: BrokerPlace): Promise<void>
  /** So many were sent before. */
  recreate(place: BrokerPlace, sent: number): Promise<void>
}

export interface BrokerSide extends AsyncDisposable {
  /** Kafka: what happens to topics. */
  readonly topics?: TopicFaults
  /** Of the server, such as `RabbitMQ 3.10.8`. */
  readonly version: string
  newPlace(beside?: Beside): Promise<BrokerPlace>
  /** Resolves when the broker has it for good. */
  send(place: BrokerPlace, message: FaultMessage): Promise<void>
  /** The broker has nothing left for the group: so many were sent. */
  isDrained(place: BrokerPlace, sent: number, recorder: Recorder): Promise<boolean>
  /**
   * What is left when no worker is there any more. Without dead letters their place is not asked: a quorum queue that was declared right
   * before its broker was killed may have no leader, and answers nothing.
   */
  left(
    place: BrokerPlace,
    sent: number,
    hasDeadLetters: boolean,
  ): Promise<{ readonly unsettled: readonly string[]; readonly deadLetters: readonly DeadLetter[] }>
}
