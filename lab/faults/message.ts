/**
 * What the handler does. `kill`: SIGKILL of its own process. `hang`: never ends in the first attempt; `hang always`: in each.
 * `block`: blocks the event loop for longer than a lease. `linger`: waits as long as a lease before its effect. `outlast`: has its
 * effect and then runs until it is aborted, in its first attempt. `ask to stop`: asks for the stop of its process, and goes on once
 * the process has heard that. `outlive the stop`: asks as well, and never ends in its first attempt.
 */
export type MessageDoes =
  | 'effect'
  | 'fail once'
  | 'fail'
  | 'kill'
  | 'hang'
  | 'hang always'
  | 'block'
  | 'linger'
  | 'outlast'
  | 'ask to stop'
  | 'outlive the stop'

export interface FaultMessage {
  /** The message ID. */
  readonly id: string
  /** Names this send of the message. The proxies between worker and broker look for it. */
  readonly send: string
  readonly does: MessageDoes
}
