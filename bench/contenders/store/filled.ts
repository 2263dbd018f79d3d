import type { Job, Measurement } from '../../suite.ts'
import { inBatches, itemsOf } from './store-items.ts'

/** Marks all messages of the job, a batch at a time. */
export async function filled(
  job: Job,
  batchSize: number,
  mark: (batch: ReturnType<typeof itemsOf>) => Promise<void>,
): Promise<Measurement> {
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  for (const batch of inBatches(itemsOf(job.name, job.messages), batchSize)) await mark(batch)
  const { user, system } = process.cpuUsage(cpu)
  return { messages: job.messages, tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 }
}
