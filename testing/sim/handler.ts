import type { Message } from '../../src/ports/message.ts'

/** What a handler that is tried in the simulator gets. */
export interface SimulatedContext {
  readonly message: Message
  readonly signal: AbortSignal
  readonly idempotencyKey: string
  /**
   * The effect: a query in the transaction, or a call of a provider outside. Rejects where the answer is not known, and with a
   * `TerminalError` where the provider refuses.
   */
  readonly apply: () => Promise<void>
  /** Work that takes time, of the virtual kind: nothing else may be waited for. */
  readonly wait: (ms: number) => Promise<void>
}

export type SimulatedHandler = (context: SimulatedContext) => Promise<unknown>
