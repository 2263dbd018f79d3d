import type { Consumer } from '../../../src/consumer/define-consumer.ts'
import type { Running, Starting } from '../../../src/ports/lifecycle.ts'
import type { Law } from '../law.ts'
import type { Driven } from './driven.ts'

/** A broker with one topic or queue of its own, for the source suite. */
export interface SourceHarness extends AsyncDisposable {
  /**
   * Publishes with confirms, in this order. The text is payload and message ID (header `message-id`); the part before a
   * `/` is the ordering key. A topic with partitions gets texts without a key in turn.
   */
  publish(texts: readonly string[]): Promise<void>
  /** Returns the handle at once, as `runConsumer` does: laws stop it while it starts. */
  run(consumer: Consumer): Starting
  /**
   * Takes deliveries away from a running consumer and gives them back: a rebalance, or a lost connection. Resolves when
   * that is over, with what the source must say of the deliveries that were under way: `stale` if they come back to this
   * process, `lost` if anybody may get them, `either` if that depends.
   */
  interrupt(running: Running, consumer: Consumer): Promise<'stale' | 'lost' | 'either'>
  /**
   * Takes running deliveries of two partitions, or of the queue, away from a consumer, at least one of them for good: a
   * second member joins its group, or its connection is lost. Resolves when that is over.
   */
  takeAway(running: Running, consumer: Consumer): Promise<void>
  /**
   * Breaks each connection of the consumers to the broker once, with the calls that are under way; a new one succeeds.
   * Required by the law on `disconnects`.
   */
  readonly disconnect?: () => Promise<void>
  /**
   * Lets the broker refuse copies in the dead-letter place, or leave them unconfirmed, until the result is called: a
   * queue that is not there, a topic without enough replicas. Required by the law on `refused-copies`.
   */
  readonly refuseCopies?: () => Promise<() => Promise<void>>
  /** True if everything published is settled, according to the broker. `driven` knows what was reported to it. */
  isSettled(driven: Driven): Promise<boolean>
  /** What is in the dead-letter place. */
  deadLetters(): Promise<readonly FoundDeadLetter[]>
}

/** A dead letter, as the broker has it. */
export interface FoundDeadLetter {
  /** Its payload. */
  readonly text: string
  readonly reason: string
  /** Its header `message-id`, which is the message's. */
  readonly id: string | undefined
  /** Its ordering key, for the law on `keys`. */
  readonly key?: string | undefined
}

/** Capabilities that a source or its broker may lack, with a reason. */
export type SourceCapability =
  /** The harness has `disconnect`. */
  | 'disconnects'
  /** The harness has `refuseCopies`. */
  | 'refused-copies'
  /** Messages have a key beside their payload, and dead letters keep it. */
  | 'keys'

/** A requirement on every source, tested through the whole pipeline. */
export type SourceLaw = Law<SourceHarness, SourceCapability>
