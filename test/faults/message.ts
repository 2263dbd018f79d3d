/** What its handler does. `kill`: SIGKILL to its own process. `block`: the event loop, for longer than a lease. */
export type MessageDoes = 'effect' | 'fail once' | 'fail' | 'kill' | 'hang' | 'block' | 'linger'

export interface FaultMessage {
  /** The business identity. */
  readonly id: string
  /** Of this sending of it: what is looked for between worker and broker. */
  readonly send: string
  readonly does: MessageDoes
}
