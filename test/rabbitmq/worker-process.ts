import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import { WorkerProcess as Worker, type WorkerSettings } from '../kit/worker-process.ts'

export interface WorkerConfig extends WorkerSettings {
  readonly url: string
  /** For a consumer each. */
  readonly options: readonly RabbitOptions[]
}

/** A consumer of RabbitMQ in a process of its own. */
export class WorkerProcess extends Worker {
  constructor(config: WorkerConfig) {
    super(new URL('worker.ts', import.meta.url), config)
  }
}
