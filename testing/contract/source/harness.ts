import type { Consumer } from '../../../src/define-consumer.ts'
import type { Running } from '../../../src/lifecycle.ts'
import type { Law } from '../law.ts'
import type { Driven } from './driven.ts'

/** A broker with one topic or queue of its own, as the suite for sources needs it. */
export interface SourceHarness extends AsyncDisposable {
  /** Publishes, confirmed, in this order; the text is message ID and payload, and before a `/` its ordering key. */
  publish(texts: readonly string[]): Promise<void>
  run(consumer: Consumer): Promise<Running>
  /**
   * Takes deliveries away from a running consumer and gives them to it again: a rebalance, or a lost connection. Resolves
   * when that is over.
   */
  interrupt(running: Running, consumer: Consumer): Promise<void>
  /** Whether the broker says that everything published is settled; `driven` knows what it was told. */
  isSettled(driven: Driven): Promise<boolean>
  /** Payloads in the dead-letter place, with their reasons. */
  deadLetters(): Promise<readonly { readonly text: string; readonly reason: string }[]>
}

/** What every source must do, through the whole pipeline. */
export type SourceLaw = Law<SourceHarness>
