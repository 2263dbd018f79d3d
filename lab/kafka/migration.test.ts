import { describe, expect, it } from '@jest/globals'
import { runKafka, type AdaptedKafka, type KafkaLike } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { platformaticOf } from '../../test/kafka/client/platformatic.ts'

const PARTITIONS = 4
const EVERY_MS = 20

let cluster: Cluster
const running = stoppedAfterEach<Running>({ deadlineMs: 1_000 })

openedOnce(Cluster, (made) => (cluster = made))

type Member = 'kafkajs' | 'platformatic' | 'platformatic-kip848'

/** A group whose members are replaced one by one while messages come, one key to each partition. */
class Rolling implements AsyncDisposable {
  readonly handled: { readonly partition: number; readonly number: number }[] = []
  readonly group: string = uniqueName('group')
  readonly #sent = Array.from({ length: PARTITIONS }, () => 0)
  readonly #store = memoryStore()
  readonly #sending: Promise<void>
  #isOver = false
  readonly topic: string

  constructor(topic: string) {
    this.topic = topic
    this.#sending = this.#send()
  }

  async start(member: Member): Promise<Running> {
    const consumer = defineConsumer({
      name: 'migrated',
      id: messageId.header('id'),
      store: this.#store,
      decode: (value) => JSON.parse(String(value)) as { readonly partition: number; readonly number: number },
      handle: ({ payload }) => void this.handled.push(payload),
    })
    const client: KafkaLike | AdaptedKafka = member === 'kafkajs' ? cluster.client() : platformaticOf(cluster.brokers)
    const groupProtocol = member === 'platformatic-kip848' ? ('consumer' as const) : ('classic' as const)
    const consumerConfig = { ...FAST.consumerConfig, groupProtocol }
    const one = await runKafka(client, consumer, { ...FAST, consumerConfig, topics: [this.topic], group: this.group })
    running.push(one)
    return one
  }

  /** More of each partition is handled than was sent when it was called. */
  async goesOn(): Promise<void> {
    const sent = this.#sent.map((count) => count + 1)
    await eventually(async () =>
      sent.every((count, partition) => this.handled.some((one) => one.partition === partition && one.number >= count)),
    )
  }

  /** Resolves with the number of messages sent to each partition, when all are committed. */
  async end(): Promise<readonly number[]> {
    this.#isOver = true
    await this.#sending
    await cluster.untilCommitted(this.group, this.topic, this.#sent)
    return this.#sent
  }

  numbersOf(partition: number): readonly number[] {
    return this.handled.filter((one) => one.partition === partition).map(({ number }) => number)
  }

  async #send(): Promise<void> {
    while (!this.#isOver) {
      for (const [partition, number] of this.#sent.entries()) {
        const value = JSON.stringify({ partition, number })
        await cluster.send(
          this.topic,
          [{ key: `key ${partition}`, value, headers: { id: `${partition}/${number}` } }],
          partition,
        )
        this.#sent[partition] = number + 1
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#sending
  }
}

describe.each<readonly [Member, Member]>([
  ['kafkajs', 'platformatic'],
  ['platformatic', 'kafkajs'],
  ['platformatic', 'platformatic-kip848'],
  ['platformatic-kip848', 'platformatic'],
  ['kafkajs', 'platformatic-kip848'],
])('a group that is moved from %s to %s', (from, to) => {
  it('member by member, while messages come, handles each once and in order', async () => {
    await using rolling = new Rolling(await cluster.topic(PARTITIONS))
    const old = [await rolling.start(from), await rolling.start(from)]
    await rolling.goesOn()
    for (const one of old) {
      await rolling.start(to)
      await rolling.goesOn()
      await one.stop()
      await rolling.goesOn()
    }
    for (const [partition, count] of (await rolling.end()).entries()) {
      expect(rolling.numbersOf(partition)).toEqual(Array.from({ length: count }, (_, number) => number))
    }
    for (const offsets of (await cluster.commitHistory(rolling.group)).values()) {
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    }
  }, 90_000)

  it('with all members stopped in between goes on where it was', async () => {
    await using rolling = new Rolling(await cluster.topic(PARTITIONS))
    const old = await rolling.start(from)
    await rolling.goesOn()
    await old.stop()
    await rolling.start(to)
    await rolling.goesOn()
    for (const [partition, count] of (await rolling.end()).entries()) {
      expect(rolling.numbersOf(partition)).toEqual(Array.from({ length: count }, (_, number) => number))
    }
    for (const offsets of (await cluster.commitHistory(rolling.group)).values()) {
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    }
  }, 90_000)
})
