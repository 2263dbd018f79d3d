import {
  WorkerProcess as Worker,
  type CrashPoint as AnyCrashPoint,
  type WorkerSettings,
} from '../kit/worker-process.ts'

export type { WorkerMessage } from '../kit/worker-process.ts'

export type CrashPoint = Exclude<AnyCrashPoint, 'before the handler' | 'after the release' | 'after the copy'>

export interface WorkerConfig extends WorkerSettings {
  readonly brokers: string[]
  readonly topics: readonly string[]
  readonly groupId: string
  readonly sessionTimeoutMs: number
  readonly commitEveryMs?: number
  readonly dieAt?: CrashPoint
}

/** A consumer of Kafka in a process of its own. */
export class WorkerProcess extends Worker {
  constructor(config: WorkerConfig) {
    super(new URL('worker.ts', import.meta.url), config)
  }
}
