import type { Recorder } from '../recorder.ts'
import type { Supervisor } from '../supervisor.ts'
import type { Action } from '../wire/proxy.ts'
import type { CellContext, Worker } from '../worker/worker.ts'

export interface Injection {
  /** What the proxy does with the bytes of the moment. */
  readonly action: Action
  /** Resolves when the fault has healed. */
  readonly healed: Promise<void>
  /** Runs after the neighbours have been sent. */
  readonly afterwards?: () => Promise<void>
}

export interface Scene {
  readonly context: CellContext
  readonly worker: Worker
  readonly supervisor: Supervisor
  readonly recorder: Recorder
  /** Place of the target, the first message of its partition. */
  readonly place: string
}
