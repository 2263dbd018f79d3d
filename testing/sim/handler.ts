import type { Message } from '../../src/ports/message.ts'

/** The argument of a handler in the simulator. */
export interface SimulatedContext {
  readonly message: Message
  readonly signal: AbortSignal
  readonly idempotencyKey: string
  /**
   * The effect: a query in the transaction, or a call of an external provider. Rejects if the answer is unknown, and
   * with a `TerminalError` if the provider refuses.
   */
  readonly apply: () => Promise<void>
  /** Waits in virtual time. Nothing else may be awaited. */
  readonly wait: (ms: number) => Promise<void>
}

export type SimulatedHandler = (context: SimulatedContext) => Promise<unknown>
