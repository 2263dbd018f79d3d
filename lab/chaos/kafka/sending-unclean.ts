import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import type { Payload } from '../messages.ts'

interface UncleanParts {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly partitions: number
  /** When there are enough. */
  readonly until: AbortSignal
}

const PAUSE_MS = 20

/** Sends to a topic whose leaders confirm alone. Adds the IDs that were confirmed: an unclean election may cut them off all the same. */
export async function sendUnclean(parts: UncleanParts, acknowledged: Set<string>): Promise<void> {
  await Promise.all(Array.from({ length: parts.partitions }, (_, partition) => fill(parts, partition, acknowledged)))
}

/** A producer of its own: one whose leader is away holds up no other. */
async function fill(
  { brokers, topic, until }: UncleanParts,
  partition: number,
  acknowledged: Set<string>,
): Promise<void> {
  const client = new Kafka({
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    requestTimeout: 3_000,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 2 },
  })
  const producer = client.producer({ metadataMaxAge: 1_000 })
  await producer.connect()
  for (let number = 0; !until.aborted; number++) {
    const payload: Payload = { id: `u${partition}-${number}`, workMs: 0, fails: 'never', padding: '' }
    const { id } = payload
    const message = { partition, key: `u-${number % 5}`, value: JSON.stringify(payload), headers: { 'message-id': id } }
    const answers = await producer.send({ topic, messages: [message], acks: 1 }).catch(() => [])
    if (answers.some((answer) => answer.partition === partition && answer.errorCode === 0)) acknowledged.add(id)
    await sleep(PAUSE_MS)
  }
  await producer.disconnect()
}
