/**
 * What its handler does. `kill`: SIGKILL to its own process. `hang`: in its first attempt, `hang always`: in each. `block`: the event
 * loop, for longer than a lease. `linger`: takes a lease's time before its effect. `outlast`: has its effect, and then runs until it is
 * aborted, in its first attempt.
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

export interface FaultMessage {
  /** The business identity. */
  readonly id: string
  /** Names this sending of the message. The proxies between worker and broker look for it. */
  readonly send: string
  readonly does: MessageDoes
}
