import { Kafka, logLevel } from 'kafkajs'
import { eventually } from '../../eventually.ts'
import { serverOf, type Job } from '../../suite.ts'

/** A client for one contender; its errors end up on stderr. */
export function clientOf(job: Job): Kafka {
  return new Kafka({ brokers: serverOf(job, 'kafka').split(','), logLevel: logLevel.ERROR })
}

/** Resolves when the group of the job has committed everything. */
export async function allCommitted(job: Job): Promise<void> {
  await eventually('all offsets are committed', async () => {
    const offsets = await committedOffsets(job)
    return [...offsets.values()].reduce((sum, offset) => sum + offset, 0) === job.messages
  })
}

/** Committed offsets of the group of the job, by partition; 0 if there are none. */
export async function committedOffsets(job: Job): Promise<ReadonlyMap<number, number>> {
  const admin = clientOf(job).admin()
  await admin.connect()
  const [answer] = await admin.fetchOffsets({ groupId: job.name, topics: [job.place] })
  await admin.disconnect()
  const partitions = answer?.partitions ?? []
  return new Map(partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]))
}
