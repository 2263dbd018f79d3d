import type { FaultMessage } from '../message.ts'
import type { Recorder } from '../recorder.ts'
import type { KafkaPlace, RabbitPlace } from '../worker/settings.ts'

/** What a cell has on its broker: a queue, or a topic and a group. */
export interface BrokerPlace {
  /** Queue or consumer group, and queue or topic: what is part of every key. */
  readonly group: string
  readonly origin: string
  readonly port: number
  /** What a worker is told, that reaches the broker through this port. */
  readonly worker: (port: number) => RabbitPlace | KafkaPlace
  readonly placeOf: (send: number) => string
}

/** A message that lies in the dead-letter place. */
export interface Letter {
  readonly send: string
  readonly isParked: boolean
  readonly reason: string
}

export interface BrokerSide extends AsyncDisposable {
  /** Of the server, such as `RabbitMQ 3.10.8`. */
  readonly version: string
  newPlace(): Promise<BrokerPlace>
  /** Resolves when the broker has it for good. */
  send(place: BrokerPlace, message: FaultMessage): Promise<void>
  /** The broker has nothing left for the group: so many were sent. */
  isDrained(place: BrokerPlace, sent: number, recorder: Recorder): Promise<boolean>
  /**
   * What is left when no worker is there any more. Without letters their place is not asked: a quorum queue that was declared right
   * before its broker was killed may have no leader, and answers nothing.
   */
  left(
    place: BrokerPlace,
    sent: number,
    hasLetters: boolean,
  ): Promise<{ readonly unsettled: readonly string[]; readonly letters: readonly Letter[] }>
}
