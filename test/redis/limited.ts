// One of several processes that share a limit: it handles what it may for so many seconds, and tells when each began.
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { defineConsumer, messageId } from '../../src/index.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../src/memory/index.ts'
import { postgresLimit, redisLimit } from '../../adapters/rate-limiter-flexible/index.ts'

const [, , url = '', name = '', perSecond = '', seconds = ''] = process.argv
const redis = url.startsWith('redis:') ? new Redis(url) : undefined
const pool = redis === undefined ? new Pool({ connectionString: url, max: 4 }) : undefined
const shared =
  redis === undefined ? postgresLimit({ pool: pool as Pool, name, table: name }) : redisLimit({ redis, name })
await redis?.ping()

const began: number[] = []
const broker = new MemoryBroker()
const consumer = defineConsumer({
  name: 'limited',
  id: messageId.header('id'),
  store: memoryStore(),
  limit: { perSecond: Number(perSecond), shared },
  handle: () => void began.push(Date.now()),
})
// More than all processes may handle.
const count = Math.ceil(Number(perSecond) * (Number(seconds) + 3))
for (let id = 0; id < count; id++) broker.publish('topic', { value: Buffer.from('{}'), headers: { id: String(id) } })

process.once('message', () => {
  void (async () => {
    const running = await runMemory(broker, consumer, { topic: 'topic', group: 'group' })
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000))
    await running.stop({ deadlineMs: 0 })
    process.send?.(began)
    redis?.disconnect()
    await pool?.end()
    process.disconnect()
  })()
})
process.send?.('ready')
