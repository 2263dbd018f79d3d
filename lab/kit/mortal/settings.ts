/** Places in the way of a message. The process kills itself there. */
export type CrashPoint =
  | 'before the handler'
  | 'before the mark'
  | 'after the mark'
  | 'after the release'
  | 'after the copy'
  | 'before the set-aside'
  | 'after the set-aside'
  | 'after the dead letter'

export interface MortalSettings {
  readonly dieAt?: CrashPoint
}

export interface WorkerMessage {
  readonly id: string
  /** `kill`: ends its process by SIGKILL. `wait`: until `letGo()`. `linger`: a little. `fail once`: in its first attempt. */
  readonly does?: 'kill' | 'fail' | 'fail once' | 'wait' | 'linger'
}

/**
 * `running`, `dies`, `started` (about: ID and attempt), `effect` (ID), an outcome (ID), `in-doubt` (ID), another event (its detail), or
 * `stopped`.
 */
export interface WorkerEvent {
  readonly what: string
  readonly about: string
}
