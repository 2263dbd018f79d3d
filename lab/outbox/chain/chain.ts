import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { connect } from 'amqplib'
import { eventually } from '../../../test/kit/eventually.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { between, seeded, type Random } from '../../chaos/seeded.ts'
import type { SourceSpec, WorkerSpec } from '../../kit/worker/spec.ts'
import { judgeChain, type ChainEffect, type ChainMessage } from './judge.ts'
import { EFFECTS, ordersOf, type Order, type ServiceSettings } from './orders.ts'
import { Service } from './services.ts'

/** A server that a run may restart. */
interface Restarted {
  readonly name: string
  readonly restart: () => Promise<void>
}

export interface ChainOptions {
  readonly postgres: string
  readonly brokers: string[]
  readonly rabbitmq: string
  readonly orders: number
  /** Of services, in all. */
  readonly kills: number
  /** Each once. */
  readonly restarts: readonly Restarted[]
  readonly seed: number
}

interface ChainRun {
  /** What is wrong, one line each. */
  readonly failures: readonly string[]
  readonly figures: Readonly<Record<string, number>>
}

const NAMES = ['a', 'b', 'c'] as const
const SESSION_MS = 1_500
/** Messages of the producer at once. */
const AT_ONCE = 25

/**
 * Kafka, service a, Kafka, service b, RabbitMQ, service c: each has its effects in a schema of its own, and publishes through its
 * outbox. Services die and servers restart while orders come in, and all is judged by what the servers have in the end.
 */
export async function runChain(options: ChainOptions): Promise<ChainRun> {
  await using place = await Place.make(options)
  const orders = ordersOf(options.orders)
  await using a = place.service('a')
  await using b = place.service('b')
  await using c = place.service('c')
  const services = [a, b, c]
  await Promise.all([place.send(orders), harm(options, services, place)])
  await eventually(() => place.isDrained(orders.length), 240_000)
  const steps = [
    { service: 'a', effects: await place.effects('a'), published: await place.topicOf(place.charged) },
    { service: 'b', effects: await place.effects('b'), published: await place.tapped() },
    { service: 'c', effects: await place.effects('c'), published: undefined },
  ]
  const repeats = steps.flatMap(({ published = [] }) => published).length - 2 * orders.length
  const deaths = services.flatMap((one) => one.deaths)
  return {
    failures: [...judgeChain(orders, steps), ...deaths],
    figures: { orders: orders.length, repeats, kills: services.reduce((sum, { kills }) => sum + kills, 0) },
  }
}

/** Evenly over the run: the next harm waits until its share of the orders has come through. */
async function harm(
  { kills, restarts, orders, seed }: ChainOptions,
  services: readonly Service[],
  place: Place,
): Promise<void> {
  const random = seeded(seed, 'chain')
  const harms = [...restarts.map(({ restart }) => restart), ...Array.from({ length: kills }, () => undefined)]
  const order = shuffledWith(random, harms)
  for (const [at, restart] of order.entries()) {
    const share = Math.floor((orders * 0.8 * at) / order.length)
    await eventually(async () => (await place.through()) >= share, 240_000)
    await (restart?.() ?? services[between(random, 0, services.length - 1)]?.kill())
  }
}

function shuffledWith<T>(random: Random, items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((x, y) => x.at - y.at)
    .map(({ item }) => item)
}

/** Topics, queues and schemas of one run, and what was left in them. */
class Place implements AsyncDisposable {
  readonly #options: ChainOptions
  readonly #pool: Pool
  readonly #kafka: Kafka
  readonly #name = uniqueName('chain')

  private constructor(options: ChainOptions) {
    this.#options = options
    this.#pool = new Pool({ connectionString: options.postgres, max: 3 })
    this.#pool.on('error', () => {})
    this.#kafka = new Kafka({
      brokers: options.brokers,
      logLevel: logLevel.NOTHING,
      retry: { retries: 30, maxRetryTime: 1_000 },
    })
  }

  static async make(options: ChainOptions): Promise<Place> {
    const place = new Place(options)
    const admin = place.#kafka.admin()
    await admin.connect()
    const topics = [place.orders, place.charged].map((topic) => ({ topic, numPartitions: 3 }))
    await admin.createTopics({ topics, waitForLeaders: false })
    await admin.disconnect()
    for (const name of NAMES) {
      const schema = place.#schema(name)
      await place.#pool.query(`create schema ${schema}`)
      await place.#pool.query(`create table ${schema}.${EFFECTS} (n bigserial, order_id text, account text, run text)`)
    }
    await place.#onRabbit(async (channel) => {
      await channel.assertExchange(place.billed, 'fanout', { durable: true })
      for (const queue of [place.billed, place.#tap]) {
        await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
        await channel.bindQueue(queue, place.billed, '')
      }
    })
    return place
  }

  get orders(): string {
    return `${this.#name}-orders`
  }

  get charged(): string {
    return `${this.#name}-charged`
  }

  /** The exchange, and the queue of service c. */
  get billed(): string {
    return `${this.#name}-billed`
  }

  /** Has a copy of all that is published to the exchange. */
  get #tap(): string {
    return `${this.#name}-tap`
  }

  #schema(service: string): string {
    return `${this.#name.replaceAll('-', '_')}_${service}`
  }

  service(name: (typeof NAMES)[number]): Service {
    const { postgres, brokers, rabbitmq } = this.#options
    const onKafka = (topic: string): SourceSpec => ({
      kind: 'kafka',
      brokers,
      client: { retry: { retries: 30, maxRetryTime: 1_000 } },
      options: {
        topics: [topic],
        group: `${this.#name}-${name}`,
        commitEveryMs: 50,
        consumerConfig: {
          sessionTimeout: SESSION_MS,
          rebalanceTimeout: 3_000,
          heartbeatInterval: 200,
          maxWaitTimeInMs: 50,
        },
      },
    })
    const chain: Readonly<Record<string, readonly [SourceSpec, ServiceSettings]>> = {
      a: [onKafka(this.orders), { to: { topic: this.charged } }],
      b: [onKafka(this.charged), { to: { exchange: this.billed } }],
      c: [{ kind: 'rabbitmq', url: rabbitmq, options: { queue: this.billed, queueType: 'quorum' } }, {}],
    }
    const [source, settings] = chain[name] ?? []
    if (source === undefined || settings === undefined) throw new TypeError(`no service ${name}`)
    const spec: Omit<WorkerSpec<ServiceSettings>, 'process'> = {
      sources: [source],
      store: {
        on: 'postgres',
        strategy: 'inbox',
        url: postgres,
        schema: this.#schema(name),
        connections: 8,
        outbox: { kafka: brokers, rabbitmq },
      },
      consumer: { name, backoff: { initialMs: 10, maxMs: 100 }, maxAttempts: 50 },
      settings,
      stopDeadlineMs: 5_000,
    }
    return new Service(name, spec)
  }

  async send(orders: readonly Order[]): Promise<void> {
    const producer = this.#kafka.producer({ metadataMaxAge: 1 })
    await producer.connect()
    for (let at = 0; at < orders.length; at += AT_ONCE) {
      const messages = orders
        .slice(at, at + AT_ONCE)
        .map((order) => ({ key: order.account, value: JSON.stringify(order), headers: { 'message-id': order.id } }))
      await producer.send({ topic: this.orders, acks: -1, messages })
      await eventually(async () => at - (await this.through()) < 8 * AT_ONCE, 240_000)
    }
    await producer.disconnect()
  }

  /** Orders that have reached the end of the chain. */
  async through(): Promise<number> {
    return this.#count('c', `select count(*) as n from ${EFFECTS}`)
  }

  async isDrained(orders: number): Promise<boolean> {
    if ((await this.#count('c', `select count(distinct order_id) as n from ${EFFECTS}`)) < orders) return false
    const left = await Promise.all(NAMES.map((name) => this.#count(name, 'select count(*) as n from outbox')))
    return left.every((count) => count === 0)
  }

  /** Postgres may be away: then it is asked again. */
  async #count(service: string, text: string): Promise<number> {
    const schema = this.#schema(service)
    const { rows } = await this.#pool
      .query<{ n: string }>(text.replace(' from ', ` from ${schema}.`))
      .catch(() => ({ rows: [] }))
    return Number(rows[0]?.n ?? (service === 'c' ? 0 : 1))
  }

  async effects(service: string): Promise<readonly ChainEffect[]> {
    const text = `select order_id, account, run from ${this.#schema(service)}.${EFFECTS} order by n`
    return (await this.#pool.query<ChainEffect>(text)).rows
  }

  /** All of a topic, partition by partition. */
  async topicOf(topic: string): Promise<readonly ChainMessage[]> {
    const admin = this.#kafka.admin()
    await admin.connect()
    const ends = await admin.fetchTopicOffsets(topic)
    await admin.disconnect()
    const expected = ends.reduce((sum, { high }) => sum + Number(high), 0)
    const consumer = this.#kafka.consumer({ groupId: uniqueName('reader'), maxWaitTimeInMs: 100 })
    const found: ChainMessage[] = []
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message: { headers, value } }) => {
        found.push({ messageId: String(headers?.['message-id']), order: JSON.parse(String(value)) as Order })
      },
    })
    await eventually(() => found.length >= expected)
    await consumer.disconnect()
    return found
  }

  async tapped(): Promise<readonly ChainMessage[]> {
    const found: ChainMessage[] = []
    await this.#onRabbit(async (channel) => {
      for (;;) {
        const message = await channel.get(this.#tap, { noAck: true })
        if (message === false) return
        const order = JSON.parse(message.content.toString()) as Order
        found.push({ messageId: String(message.properties.messageId), order })
      }
    })
    return found
  }

  async #onRabbit(
    act: (channel: Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createChannel']>>) => Promise<void>,
  ): Promise<void> {
    const connection = await connect(this.#options.rabbitmq)
    connection.on('error', () => {})
    try {
      await act(await connection.createChannel())
    } finally {
      await connection.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
  }
}
