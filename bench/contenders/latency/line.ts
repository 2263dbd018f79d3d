import type { Job } from '../../suite.ts'

/** A topic or queue of the job, empty at first. */
export interface Line {
  readonly create: (job: Job) => Promise<void>
  /** Waits until a consumer is there. */
  readonly openProducer: (job: Job) => Promise<(ids: readonly number[]) => void>
  readonly remove: (job: Job) => Promise<void>
}
