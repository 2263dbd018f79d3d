// One process that consumes the queue, as a user would write it.
import { messageId } from 'consume-once'
import { runRabbit } from 'consume-once/amqplib'
import { readSettings, work } from '../worker-program.ts'
import { withPlantedAcks } from './planted.ts'
import { LEASE_MS, type RabbitWorkerSettings } from './settings.ts'

const { url, queue, ...settings } = readSettings() as RabbitWorkerSettings
const tuning = {
  id: messageId.property(),
  concurrency: 20,
  leaseMs: LEASE_MS,
  retentionMs: 3_600_000,
  // Poison comes to its end soon; no message is there at so many kills.
  maxAttempts: 8,
  backoff: { initialMs: 20, maxMs: 200 },
}

await work(settings, tuning, (consumer) =>
  runRabbit(withPlantedAcks(url, settings.planted), consumer, {
    queue,
    prefetch: 100,
    lane: ({ headers }) => (typeof headers['key'] === 'string' ? headers['key'] : undefined),
  }),
)
