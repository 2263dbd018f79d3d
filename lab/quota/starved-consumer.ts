import { Kafka, logLevel } from 'kafkajs'
import type { KafkaConsumerOptions } from '../../adapters/kafkajs/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { server } from '../../test/kit/servers/server.ts'
import type { WorkerSpec } from '../kit/worker/spec.ts'
import { WorkerProcess } from '../kit/worker/worker-process.ts'
import { limitCpu, type CpuLimit } from './limit-cpu.ts'

export interface StarvedOptions {
  readonly messages: number
  readonly partitions: number
  /** Share of one CPU: 0.1 is a tenth. */
  readonly share: number
  readonly sessionTimeoutMs: number
  /** Options of kafkajs's consumer that are not the default. */
  readonly consumer?: KafkaConsumerOptions
}

export interface Figures {
  readonly handled: number
  readonly handedBack: number
  /** One is the first; each other one followed an eviction. */
  readonly joins: number
  readonly refused: number
  /** The most of one partition that was taken and not finished. */
  readonly inFlight: number
  readonly rssMb: number
  /** The most CPU between two rounds of the event loop, since it joined. */
  readonly longestTurnMs: number
  /** How often that was more than 20 ms. */
  readonly longTurns: number
}

/** Sent together by the producer: one record batch. */
const TOGETHER = 1_000

/** A consumer with a backlog of small messages, in a process that has a share of a CPU. */
export class StarvedConsumer implements AsyncDisposable {
  readonly #process: WorkerProcess<Figures>
  readonly #remove: () => Promise<unknown>
  #limit: CpuLimit | undefined
  figures: Figures | undefined
  onFigures: (figures: Figures) => void = () => {}

  private constructor(spec: WorkerSpec<undefined>, remove: () => Promise<unknown>) {
    this.#remove = remove
    this.#process = new WorkerProcess<Figures>(new URL('worker.ts', import.meta.url), spec, (line) => {
      if (line.says !== 'report') return
      this.figures = line.report
      this.onFigures(this.figures)
    })
  }

  /** Its modules are loaded and its topic is filled before it has to do with less. */
  static async start(options: StarvedOptions): Promise<StarvedConsumer> {
    // A Redis of its own: the marks go with it.
    const [{ brokers }, redis] = await Promise.all([server('kafka'), startPrivateRedis()])
    const topic = uniqueName('quota')
    const removeTopic = await fill(brokers, topic, options)
    const { sessionTimeoutMs: sessionTimeout } = options
    const consumerConfig = { sessionTimeout, heartbeatInterval: sessionTimeout / 4, ...options.consumer }
    const spec = {
      process: 'starved',
      sources: [{ kind: 'kafka', brokers, options: { topics: [topic], group: uniqueName('group'), consumerConfig } }],
      store: { on: 'redis', strategy: 'lease', url: redis.url },
      consumer: { name: 'starved', concurrency: 400 }, // So that maxInFlight is 800.
      settings: undefined,
      stopDeadlineMs: 0,
      isHeld: true,
    } as const
    const starved = new StarvedConsumer(spec, () => Promise.all([removeTopic(), redis.stop()]))
    await starved.#begin(options.share)
    return starved
  }

  get limitedBy(): CpuLimit['by'] | undefined {
    return this.#limit?.by
  }

  async #begin(share: number): Promise<void> {
    await this.#process.untilLoaded()
    this.#limit = limitCpu(this.#process.pid, share)
    this.#process.order('begin')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.kill()
    this.#limit?.end()
    await this.#remove()
  }
}

/** Returns what removes the topic. */
async function fill(
  brokers: string[],
  topic: string,
  { messages, partitions }: StarvedOptions,
): Promise<() => Promise<void>> {
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
  const [admin, producer] = [kafka.admin(), kafka.producer()]
  await Promise.all([admin.connect(), producer.connect()])
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: partitions }] })
  for (let sent = 0, partition = 0; sent < messages; sent += TOGETHER, partition = (partition + 1) % partitions) {
    const count = Math.min(TOGETHER, messages - sent)
    const together = Array.from({ length: count }, (_, index) => ({ ...smallMessage(sent + index), partition }))
    await producer.send({ topic, messages: together, acks: -1 })
  }
  await producer.disconnect()
  return async () => {
    await admin.deleteTopics({ topics: [topic] }).catch(() => {})
    await admin.disconnect()
  }
}

/** A batch of 1 MiB holds 8,000 of them. */
function smallMessage(number: number): { key: string; value: string } {
  return { key: `key-${number}`, value: JSON.stringify({ id: String(number), text: '.'.repeat(80) }) }
}
