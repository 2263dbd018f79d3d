import { Pool } from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../adapters/kafkajs-kit.ts'
import { uniqueName } from '../support/namespace.ts'
import { startPrivateKafka, type PrivateKafka } from '../support/servers/private-kafka.ts'
import { startPrivatePostgres } from '../support/servers/private-postgres.ts'
import { startPrivateRedis } from '../support/servers/private-redis.ts'
import { ClusterControl, OFFSETS_TOPIC } from './cluster-control.ts'
import type { Evidence } from './evidence.ts'
import { doHarm } from './faults.ts'
import { gatherEffects, gatherPartitions } from './gather.ts'
import { Journal } from './journal.ts'
import { judge, type Verdict } from './judge.ts'
import { Pace } from './pace.ts'
import { PARTITIONS, planOf, WORKERS, type ChaosOptions } from './plan.ts'
import { Sending } from './sending.ts'
import { EFFECTS, LEASE_MS } from './worker-settings.ts'
import { WorkerSlot } from './worker-slot.ts'

export interface ChaosRun {
  readonly options: ChaosOptions
  readonly verdict: Verdict
  readonly journal: Journal
  readonly evidence: Evidence
  readonly seconds: number
}

/** What one run has around it. */
interface Arena {
  readonly options: ChaosOptions
  readonly kafka: PrivateKafka
  readonly pool: Pool
  readonly topic: string
  readonly groupId: string
  readonly workers: readonly WorkerSlot[]
  readonly journal: Journal
}

const LOOK_EVERY_MS = 250

/** One run, on servers of its own. A seed plans the same messages and faults; how they meet is up to the machine. */
export async function runChaos(options: ChaosOptions): Promise<ChaosRun> {
  await using kafka = await startPrivateKafka({ brokers: 3 })
  await using postgres = await startPrivatePostgres({ settings: { track_commit_timestamp: 'on' } })
  await using redis = options.store === 'redis' ? await startPrivateRedis() : undefined
  await using cluster = await Cluster.open(kafka.brokers)
  const pool = new Pool({ connectionString: postgres.url, max: 2 })
  pool.on('error', () => {})
  const journal = new Journal()
  const [topic, groupId] = [await cluster.topic(PARTITIONS), uniqueName('chaos')]
  await pool.query(
    `create table ${EFFECTS} (id text, process text, begun_at bigint, position text, attempt int)`, // Doubles must be seen.
  )
  const { store, planted } = options
  const { brokers } = kafka
  const settings = { brokers, topic, groupId, store, planted, postgresUrl: postgres.url, redisUrl: redis?.url }
  const workers = Array.from({ length: WORKERS }, (_, index) => new WorkerSlot(`w${index + 1}`, settings, journal))
  try {
    const acknowledged = await carryOut({ options, kafka, pool, topic, groupId, workers, journal })
    await Promise.all(workers.map((worker) => worker.stop()))
    await using reader = await Cluster.open(brokers)
    const deadLetters = await reader.highs(`${topic}.dead-letter`)
    const evidence: Evidence = {
      store,
      acknowledged,
      partitions: await gatherPartitions(reader, groupId, topic),
      effects: await gatherEffects(pool),
      deadLetters: deadLetters.reduce((sum, { high }) => sum + Number(high), 0),
      harms: journal.harms,
      leaseMs: LEASE_MS,
    }
    return { options, verdict: judge(evidence), journal, evidence, seconds: journal.seconds }
  } finally {
    await Promise.all(workers.map((worker) => worker.end()))
    await pool.end()
  }
}

/** Resolves with the IDs that were sent, once all of them are committed or the time is over; no process is harmed then. */
async function carryOut(arena: Arena): Promise<ReadonlySet<string>> {
  const { options, kafka, pool, topic, groupId, workers, journal } = arena
  const { brokers } = kafka
  const deadline = AbortSignal.timeout(options.minutes * 60_000)
  const over = new AbortController()
  const plan = planOf(options)
  const pace = new Pace(options.messages, pool, deadline)
  const sending = new Sending({ ...options, brokers, topic, pace, signal: deadline })
  const control = await ClusterControl.connect(brokers, deadline)
  const watching = pace.watch(over.signal)
  try {
    for (const worker of workers) worker.start()
    const harm = doHarm({ plan, pace, kafka, control, workers, journal, topic, groupId })
    for (const end of await Promise.allSettled([harm, sending.run()])) if (end.status === 'rejected') throw end.reason
    journal.note('run', 'all is sent, nothing is harmed any more')
    await control.untilInSync([topic, OFFSETS_TOPIC])
    await untilDrained(arena, deadline)
  } catch (error) {
    if (!deadline.aborted) throw error
    journal.broken(`no end within ${options.minutes} minutes: ${pace.toString()}`)
  } finally {
    over.abort()
    await watching
    await control.disconnect()
  }
  return sending.acknowledged
}

/** The group has committed all that there is. */
async function untilDrained({ kafka, topic, groupId }: Arena, deadline: AbortSignal): Promise<void> {
  await using cluster = await Cluster.open(kafka.brokers)
  for (;;) {
    deadline.throwIfAborted()
    const ends = (await cluster.highs(topic)).toSorted((a, b) => a.partition - b.partition)
    const committed = await cluster.committed(groupId, topic)
    if (ends.every(({ high }, index) => Number(high) === committed[index])) return
    await sleep(LOOK_EVERY_MS)
  }
}
