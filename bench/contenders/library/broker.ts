import type { Consumer, Message } from 'consume-once'
import type { Source } from 'consume-once/spi'
import type { Job } from '../../suite.ts'

/** Where the library gets the messages of a job from. */
export interface Broker {
  /** The ID of a message, as the bench has sent it. */
  readonly idOf: (message: Pick<Message, 'headers' | 'messageId'>) => unknown
  /** Without pipeline and store. */
  source(job: Job): Source
  /** Consumes, complete. Resolves with what ends it. */
  run(job: Job, consumer: Consumer): Promise<() => Promise<void>>
  /** After the last message was settled: the broker knows of all. `stop` ends the consumer. */
  untilSettled(job: Job, stop: () => Promise<void>): Promise<void>
}

/** Loads its client where it is used. */
export type LoadBroker = () => Promise<Broker>
