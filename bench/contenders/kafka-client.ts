import { Kafka, logLevel } from 'kafkajs'
import { eventually } from '../eventually.ts'
import { serverOf, type Job } from '../suite.ts'

/** A client for one contender; its errors end up on stderr. */
export function clientOf(job: Job): Kafka {
  return new Kafka({ brokers: serverOf(job, 'kafka').split(','), logLevel: logLevel.ERROR })
}

/** Resolves when the group of the job has committed everything. */
export async function allCommitted(job: Job): Promise<void> {
  const admin = clientOf(job).admin()
  await admin.connect()
  await eventually('all offsets are committed', async () => {
    const [answer] = await admin.fetchOffsets({ groupId: job.name, topics: [job.topic] })
    const committed = answer?.partitions.reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0)
    return committed === job.messages
  })
  await admin.disconnect()
}
