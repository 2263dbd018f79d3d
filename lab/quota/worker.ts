// A consumer in a process of its own that has little CPU: started by starved-consumer.ts, which it tells its figures.

import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { redisLease } from '../../adapters/redis/ioredis/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../src/index.ts'
import type { Figures, StarvedSettings } from './starved-consumer.ts'

process.on('disconnect', () => process.exit(1)) // Nobody is left to work for.

const settings = JSON.parse(process.argv[2] ?? '') as StarvedSettings
const { brokers, redisUrl, topic, groupId, sessionTimeoutMs } = settings
const figures = {
  handled: 0,
  handedBack: 0,
  joins: 0,
  refused: 0,
  inFlight: 0,
  rssMb: 0,
  longestTurnMs: 0,
  longTurns: 0,
}

const consumer = defineConsumer<{ id: string }, { id: string }>({
  name: 'starved',
  id: ({ payload }) => payload.id,
  concurrency: 400, // So that maxInFlight is 800.
  store: redisLease({ redis: new Redis(redisUrl) }),
  handle: () => {},
  observe: (event) => {
    if (event.type === 'delivery' && event.outcome === 'handled') figures.handled++
    if (event.type === 'delivery' && event.outcome === 'handed-back') figures.handedBack++
    if (event.type === 'delivery' && event.outcome === 'settle-refused') figures.refused++
    if (event.type === 'source' && event.event === 'group-joined') figures.joins++
  },
})

/** CPU of the main thread between two rounds of the event loop: what is done there keeps everything else waiting. */
function watchTurns(): void {
  let before = cpuMs()
  setInterval(() => {
    const now = cpuMs()
    figures.longestTurnMs = Math.max(figures.longestTurnMs, Math.round(now - before))
    if (now - before > 20) figures.longTurns++
    before = now
  }, 1)
}

/** Without the threads of the garbage collector. */
function cpuMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1_000_000
}

process.once('message', () => void begin())
process.send?.('ready')

async function begin(): Promise<void> {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const running = await runKafka(kafka, consumer, {
    topics: [topic],
    group: groupId,
    consumer: {
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: sessionTimeoutMs / 4,
      ...settings.consumer,
    },
  })
  watchTurns()
  setInterval(() => {
    figures.rssMb = Math.max(figures.rssMb, Math.round(process.memoryUsage.rss() / 2 ** 20))
    figures.inFlight = Math.max(figures.inFlight, ...running.health().partitions.map(({ inFlight }) => inFlight))
    process.send?.(figures satisfies Figures)
  }, 100)
}
