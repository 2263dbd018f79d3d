import type { Consumer } from '../../../src/consumer/define-consumer.ts'
import type { Running, Starting } from '../../../src/ports/lifecycle.ts'
import type { Law } from '../law.ts'
import type { Driven } from './driven.ts'

/** A broker with one topic or queue of its own, for the source suite. */
export interface SourceHarness extends AsyncDisposable {
  /**
   * Publishes with confirms, in this order. The text is message ID and payload; the part before a `/` is the ordering
   * key.
   */
  publish(texts: readonly string[]): Promise<void>
  /** Returns the handle at once, as `runConsumer` does: laws stop it while it starts. */
  run(consumer: Consumer): Starting
  /**
   * Takes deliveries away from a running consumer and gives them back: a rebalance, or a lost connection. Resolves when
   * that is over.
   */
  interrupt(running: Running, consumer: Consumer): Promise<void>
  /** True if everything published is settled, according to the broker. `driven` knows what was reported to it. */
  isSettled(driven: Driven): Promise<boolean>
  /** Payloads in the dead-letter place, with their reasons. */
  deadLetters(): Promise<readonly { readonly text: string; readonly reason: string }[]>
}

/** A requirement on every source, tested through the whole pipeline. */
export type SourceLaw = Law<SourceHarness>
