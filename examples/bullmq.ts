// A BullMQ worker on Redis: the same SMS is added under two job IDs, and sent once.
import assert from 'node:assert/strict'
import { Queue, QueueEvents } from 'bullmq'
// #region readme
import { Worker } from 'bullmq'
import { defineConsumer, json } from 'consume-once'
import { bullmqProcessor } from 'consume-once/bullmq'
import { redisLease } from 'consume-once/redis'

// #endregion
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName, redisUrl } from './support/servers.ts'

const name = ownName('sms')
const { hostname, port } = new URL(redisUrl())
const connection = { host: hostname, port: Number(port || 6379), maxRetriesPerRequest: null }
const redis = redisUnder(name)
const sent: string[] = []
/** The stand-in for a provider. */
const provider = {
  async send({ to }: { to: string }, _idempotencyKey: string): Promise<string> {
    sent.push(to)
    return `receipt-${sent.length}`
  },
}

// #region readme
const sms = defineConsumer({
  name: 'sms-sender',
  id: ({ payload }) => payload.notificationId, // or messageId.property(): the job ID
  decode: json<{ notificationId: string; to: string }>(),
  store: redisLease({ redis }),
  rememberResult: true, // a duplicate completes with the result of the first run
  handle: ({ payload, idempotencyKey }) => provider.send(payload, idempotencyKey),
})

const processor = bullmqProcessor(sms)
const worker = new Worker(name, processor, { connection })
// #endregion

const queue = new Queue(name, { connection })
const events = new QueueEvents(name, { connection })
const data = { notificationId: 'n-1', to: '+15550100' }
const jobs = [await queue.add('send', data), await queue.add('send', data)]
const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)))
console.log(`${jobs.length} jobs, ${sent.length} SMS:`, results) // 2 jobs, 1 SMS: [ 'receipt-1', 'receipt-1' ]
assert.deepEqual(results, ['receipt-1', 'receipt-1'])
assert.deepEqual(sent, ['+15550100'])

// #region readme
// When the process ends, in this order:
await worker.close()
await processor.stop()
// #endregion
await events.close()
await queue.obliterate({ force: true })
await queue.close()
await removeKeys(name)
await redis.quit()
