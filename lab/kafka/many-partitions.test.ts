import { describe, expect, it } from '@jest/globals'
import { CompressionTypes } from 'kafkajs'
import { runKafka, type AdaptedKafka, type KafkaLike } from '../../adapters/kafkajs/index.ts'
import { isSupported } from '../../adapters/platformatic-kafka/supported-node.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Signal } from '../../test/kit/signal.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { CLIENTS } from '../../test/kafka/client/of-tests.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'

const PARTITIONS = 300
/** Of each partition. */
const MESSAGES = 60
const BYTES = 4_000
/** Of each partition: in flight, and in one fetch. A quarter of what lies there. */
const LIMIT_BYTES = 30_000
const VALUE = 'x'.repeat(BYTES)

let cluster: Cluster
let topic: string
const running = stoppedAfterEach<Running>({ deadlineMs: 2_000 })

beforeAllOpen(async (own) => {
  const kafka = own(await startPrivateKafka())
  cluster = own(await Cluster.open(kafka.brokers))
  topic = await cluster.topic(PARTITIONS)
  // Each has a leader: on a machine that is busy kafkajs gives up before.
  await eventually(() =>
    cluster.highs(topic).then(
      () => true,
      () => false,
    ),
  )
  // A batch of one message: a fetch cannot have a part of one.
  for (let number = 0; number < MESSAGES; number++) {
    const messages = Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      key: `k-${number}`,
      value: VALUE,
      headers: { id: `${partition}/${number}` },
    }))
    await cluster.producer.send({ topic, messages, compression: CompressionTypes.None })
  }
})

/** Handlers of one member, and what is seen while they run. */
class Member extends Signal {
  readonly handled = new Map<string, number>()
  readonly byPartition: number[] = Array.from({ length: PARTITIONS }, () => 0)
  /** When half of all is handled. */
  least: number | undefined
  mostBytes = 0
  running: Running | undefined
  #count = 0

  handle(position: string): void {
    this.handled.set(position, (this.handled.get(position) ?? 0) + 1)
    const partition = Number(position.slice(0, position.indexOf('@')))
    this.byPartition[partition] = (this.byPartition[partition] ?? 0) + 1
    if (++this.#count === (PARTITIONS * MESSAGES) / 2) this.least = Math.min(...this.byPartition)
    if (this.#count % 500 === 0) this.#look()
    this.notify()
  }

  #look(): void {
    const bytes = this.running?.health().partitions.reduce((sum, one) => sum + one.bytesInFlight, 0) ?? 0
    this.mostBytes = Math.max(this.mostBytes, bytes)
  }
}

const clients = CLIENTS.filter((client) => client === 'kafkajs' || isSupported(process.versions.node))

describe.each(clients)(`a member with ${PARTITIONS} partitions, with %s`, (client) => {
  it('handles all of them, within the bounds of each', async () => {
    const member = new Member()
    const consumer = defineConsumer({
      name: 'many',
      id: messageId.header('id'),
      store: memoryStore(),
      decode: () => undefined,
      handle: async ({ message }) => {
        await new Promise(setImmediate)
        member.handle(message.position)
      },
    })
    const kafka: KafkaLike | AdaptedKafka =
      client === 'kafkajs'
        ? cluster.client()
        : (await import('../../test/kafka/client/platformatic.ts')).platformaticOf(cluster.brokers)
    const groupProtocol = client === 'platformatic-kip848' ? ('consumer' as const) : ('classic' as const)
    member.running = await runKafka(kafka, consumer, {
      ...FAST,
      topics: [topic],
      group: uniqueName('group'),
      maxBytesInFlight: LIMIT_BYTES,
      consumerConfig: { ...FAST.consumerConfig, groupProtocol, maxBytesPerPartition: LIMIT_BYTES },
    })
    running.push(member.running)
    await member.until(() => member.handled.size === PARTITIONS * MESSAGES)
    const { least, mostBytes, handled } = member
    expect(Math.max(...handled.values())).toBe(1)
    // A fair share would be half of its messages. kafkajs asks in the same order each time, and a broker fills its answer in
    // that order, so the last partitions wait until the first are through.
    const [from, to] = client === 'kafkajs' ? [0, 0] : [MESSAGES / 4, MESSAGES / 2]
    expect(least).toBeGreaterThanOrEqual(from)
    expect(least).toBeLessThanOrEqual(to)
    expect(mostBytes).toBeGreaterThan(0)
    // One message may exceed the limit of its partition.
    expect(mostBytes).toBeLessThan(PARTITIONS * (LIMIT_BYTES + 1.1 * BYTES))
  }, 120_000)
})
