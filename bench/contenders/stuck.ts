import { setTimeout as sleep } from 'node:timers/promises'
import { defineConsumer, messageId } from 'consume-once'
import { runKafka, type KafkaOptions } from 'consume-once/kafkajs'
import type { Job, Measurement } from '../suite.ts'
import { ID_HEADER, indexOf } from '../tally.ts'
import { MOST_IN_ONE } from '../places/plans.ts'
import { forgetfulStore } from './forgetful-store.ts'
import { clientOf, committedOffsets } from './kafka-client.ts'
import { MemoryWatch } from './memory-watch.ts'

/** Nothing starts for so long: all that can flow has flown. */
const QUIET_MS = 10_000
const HOUR_MS = 3_600_000
const OTHERS = 'others, %'

/** The library, where the handler of message 0 never ends: all other partitions must be handled to their end. */
export function besideStuck({
  order,
  isStuck,
}: {
  readonly order: NonNullable<KafkaOptions['order']>
  readonly isStuck: boolean
}): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const flow = new Flow(job, isStuck)
    const consumer = defineConsumer({
      name: 'bench',
      id: messageId.header(ID_HEADER),
      decode: (bytes) => bytes,
      store: forgetfulStore,
      handlerTimeoutMs: HOUR_MS,
      handle: ({ message }) => flow.handle(message.headers[ID_HEADER]),
    })
    const measured = await flow.watch(() =>
      runKafka(clientOf(job), consumer, { topics: [job.place], groupId: job.name, order }),
    )
    if (measured.figures?.[OTHERS] !== 100) throw new Error(`it held up others: ${JSON.stringify(measured)}`)
    return measured
  }
}

/** kafkajs as it comes, which waits for the slowest of what it has fetched. */
export function eachMessageBesideStuck(partitionsConsumedConcurrently: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const flow = new Flow(job, true)
    const consumer = clientOf(job).consumer({ groupId: job.name })
    return flow.watch(async () => {
      await consumer.connect()
      await consumer.subscribe({ topics: [job.place], fromBeginning: true })
      await consumer.run({
        partitionsConsumedConcurrently,
        eachMessage: ({ message }) => flow.handle(message.headers?.[ID_HEADER]),
      })
    })
  }
}

/** Counts what flows beside a message that is stuck, until nothing does any more. */
class Flow {
  readonly #job: Job
  readonly #isStuck: boolean
  readonly #seen: Uint8Array
  #startedAt = 0
  #lastAt = 0
  #cpu: NodeJS.CpuUsage | undefined

  constructor(job: Job, isStuck: boolean) {
    this.#job = job
    this.#isStuck = isStuck
    this.#seen = new Uint8Array(job.messages)
  }

  async handle(id: unknown): Promise<void> {
    const index = indexOf(id)
    this.#lastAt = performance.now()
    if (this.#startedAt === 0) {
      this.#startedAt = this.#lastAt
      this.#cpu = process.cpuUsage()
    }
    this.#seen[index] = (this.#seen[index] ?? 0) + 1
    if (index === 0 && this.#isStuck) await new Promise<never>(() => {})
  }

  async watch(run: () => Promise<unknown>): Promise<Measurement> {
    using memory = new MemoryWatch()
    await run()
    while (this.#startedAt === 0 || performance.now() - this.#lastAt < QUIET_MS) await sleep(100)
    const { user, system } = process.cpuUsage(this.#cpu)
    const handled = { behind: 0, others: 0 }
    let repeated = 0
    for (const [index, starts] of this.#seen.entries()) {
      if (starts > 0) handled[MOST_IN_ONE.partitionOf(index) === 0 ? 'behind' : 'others']++
      if (starts > 1) repeated++
    }
    const committed = await committedOffsets(this.#job)
    if (repeated > 0) throw new Error(`${repeated} messages were handled twice`)
    if (this.#isStuck && (committed.get(0) ?? 0) > 0) throw new Error('committed past a message that is not finished')
    const sent = this.#seen.reduce((sum, _, index) => sum + (MOST_IN_ONE.partitionOf(index) === 0 ? 0 : 1), 0)
    return {
      messages: handled.behind + handled.others,
      tookMs: this.#lastAt - this.#startedAt,
      cpuMs: (user + system) / 1_000,
      figures: {
        [OTHERS]: (handled.others / sent) * 100,
        'behind it, %': (handled.behind / (this.#job.messages - sent)) * 100,
        ...memory.figures(),
      },
    }
  }
}
