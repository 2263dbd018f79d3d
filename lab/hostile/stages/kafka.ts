import type { Message } from 'kafkajs'
import { headersOf } from '../../../adapters/kafka/copies/headers.ts'
import { runKafka } from '../../../adapters/kafkajs/index.ts'
import { Cluster, FAST } from '../../../test/kafka/kit.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { HERE } from '../entry.ts'
import { Numbers, numberedHeaders, planFor, type Sending } from '../plan.ts'
import type { FoundDeadLetter, Stage } from '../stage.ts'

/** Bytes that a broker accepts in one batch: its default, minus some room. */
const BATCH_BYTES = 900_000
const RETRY_DELAY_MS = 20
/** Brokers before 3.6 accept any timestamp, later ones refuse one that is an hour ahead. */
const ANY_TIME = { 'message.timestamp.after.max.ms': '9223372036854775807', 'retention.ms': '-1' }

/** One partition, a retry topic where it may be used, and a dead-letter topic. */
export async function kafkaStage({ retryTopic = true }: { readonly retryTopic?: boolean } = {}): Promise<Stage> {
  const cluster = await Cluster.open()
  const [topic, groupId] = [await cluster.topic(1, ANY_TIME), uniqueName('group')]
  const numbers = new Numbers(planFor('kafka'))
  let sent = 0

  const send = async (messages: readonly Message[]): Promise<void> => {
    for (const batch of batchesOf(messages)) await cluster.send(topic, batch)
    sent += messages.length
  }
  return {
    carrier: 'kafka',
    start: (consumer) =>
      runKafka(cluster.client(), consumer, {
        ...FAST,
        topics: [topic],
        group: groupId,
        ...(retryTopic ? { retry: { topics: [{ delayMs: RETRY_DELAY_MS }] } } : {}),
      }),
    send: (sendings) => send(sendings.map((sending) => messageOf(sending, topic))),
    deadLetters: async () => {
      const deadLetters: FoundDeadLetter[] = []
      await cluster.readAll(`${topic}.dead-letter`, ({ key, value, headers = {} }) => {
        const read = headersOf(headers)
        deadLetters.push({
          number: numbers.of(read, value),
          reason: String(read['consume-once-reason']),
          value,
          moveBack: () => send([{ key, value, headers: read as NonNullable<Message['headers']> }]),
        })
      })
      return deadLetters
    },
    untilDrained: () => cluster.untilCommitted(groupId, topic, [sent]),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

function messageOf(sending: Sending, topic: string): Message {
  const { key, timestamp } = sending.message
  const headers = Object.entries(numberedHeaders(sending) ?? {}).map(([name, value]) => [
    name,
    value === HERE ? topic : value,
  ])
  return {
    key: key === undefined ? null : Buffer.from(key as string),
    value: sending.value,
    headers: Object.fromEntries(headers) as NonNullable<Message['headers']>,
    ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
  }
}

function* batchesOf(messages: readonly Message[]): Iterable<readonly Message[]> {
  let batch: Message[] = []
  let bytes = 0
  for (const message of messages) {
    const size = bytesOf(message)
    if (batch.length > 0 && bytes + size > BATCH_BYTES) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(message)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

function bytesOf({ value, headers = {} }: Message): number {
  const ofHeaders = Object.entries(headers).reduce(
    (sum, [name, given]) => sum + name.length + String(given).length + 20,
    0,
  )
  return (value?.length ?? 0) + ofHeaders + 100
}
