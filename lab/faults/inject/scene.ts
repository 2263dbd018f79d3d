import type { Recorder } from '../recorder.ts'
import type { Supervisor } from '../supervisor.ts'
import type { Action } from '../wire/proxy.ts'
import type { CellContext, Worker } from '../worker/worker.ts'

export interface Injection {
  /** Of the bytes that the moment was seen by. */
  readonly action: Action
  /** Resolves when nothing is harmed any more. */
  readonly healed: Promise<void>
  /** What is done when the neighbours have been sent. */
  readonly afterwards?: () => Promise<void>
}

export interface Scene {
  readonly context: CellContext
  readonly worker: Worker
  readonly supervisor: Supervisor
  readonly recorder: Recorder
  /** Of the message that the cell is about, the first of its partition. */
  readonly place: string
}
