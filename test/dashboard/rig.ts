import { rmSync } from 'node:fs'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { rabbitSubscription, runRabbit, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import {
  confirmedPublisher,
  kafkaSubscription,
  runKafka,
  type ConfirmedPublisher,
  type IdentifiedMessage,
  type KafkaOptions,
} from '../../adapters/kafkajs/index.ts'
import { postgresInbox, postgresOutbox, type PgTransaction, type PostgresOutbox } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { serveDashboard, type ServedDashboard } from '../../dashboard/server/index.ts'
import {
  adminOf,
  BrokerError,
  defineConsumer,
  liveSignals,
  messageId,
  OutcomeUnknownError,
  TerminalError,
  type Admin,
  type Consumer,
  type ConsumerSettings,
  type LiveSignals,
  type Running,
  type Store,
} from '../../src/index.ts'
import type { Key, LeaseStore } from '../../src/internal.ts'
import { Cluster, FAST } from '../kafka/kit.ts'
import { eventually } from '../kit/eventually.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { startPrivateRedis } from '../kit/servers/private-redis.ts'
import { server } from '../kit/servers/server.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { newFolder } from '../kit/servers/private-instance.ts'

/** What the handler does with a message. `later`: an attempt fails, and another one follows. */
type Fate = 'ok' | 'fails' | 'unknown' | 'later'

export interface SentSms {
  readonly id: string
  readonly fate?: Fate
  readonly text?: string
  /** With `fails`: the text of the error, encoded, since an error comes without what it repeats of its message. */
  readonly error?: string
  /** On Kafka. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface RigOptions {
  /** The store of the consumer on Kafka; the one on RabbitMQ has the other. @defaultValue redis */
  readonly smsOn?: 'redis' | 'postgres'
  /** Settings of both consumers. */
  readonly settings?: Pick<
    ConsumerSettings<SentSms, SentSms, PgTransaction>,
    'backoff' | 'maxAttempts' | 'retentionMs' | 'handlerTimeoutMs'
  >
}

/**
 * Two consumers that run, and dashboards over them: `sms-sender` on Kafka and `email-sender` on RabbitMQ, one of them on
 * Postgres, the other on Redis, behind a proxy, where it parks what is in doubt.
 */
export class Rig implements AsyncDisposable {
  readonly topic: string
  readonly queue: string
  readonly redisProxy: FaultProxy
  readonly sms: Consumer
  readonly email: Consumer
  /** Of the store on Postgres. */
  readonly outbox: PostgresOutbox
  readonly #publisher: ConfirmedPublisher
  readonly #redisStore: LeaseStore
  readonly #cluster: Cluster
  readonly #rabbit: Rabbit
  readonly #redis: Redis
  readonly #pool: Pool
  readonly #schema: string
  readonly #prefix: string
  readonly #live: LiveSignals = liveSignals()
  readonly #journals: string = newFolder('journals')
  readonly #running: Running[] = []
  readonly #boards: ServedDashboard[] = []
  readonly #group: string = uniqueName('notifications')
  readonly #runs: string[] = []
  #isMended = false

  private constructor(
    cluster: Cluster,
    rabbit: Rabbit,
    {
      topic,
      redisProxy,
      postgres,
      smsOn = 'redis',
      settings = {},
    }: RigOptions & { readonly topic: string; readonly redisProxy: FaultProxy; readonly postgres: string },
  ) {
    this.#cluster = cluster
    this.#rabbit = rabbit
    this.topic = topic
    this.queue = rabbit.name()
    this.redisProxy = redisProxy
    this.#prefix = uniqueName('dashboard')
    this.#schema = uniqueName('dashboard')
    this.#redis = new Redis(redisProxy.port, '127.0.0.1', { commandTimeout: 2_000, retryStrategy: () => 100 })
    this.#redis.on('error', () => {})
    this.#pool = new Pool({ connectionString: postgres, max: 6 })
    this.#pool.on('error', () => {})
    this.#redisStore = redisLease({ redis: this.#redis, prefix: this.#prefix })
    this.#publisher = confirmedPublisher(cluster.client())
    this.outbox = postgresOutbox({
      pool: this.#pool,
      schema: this.#schema,
      publishers: { kafka: { publish: (message: IdentifiedMessage) => this.#publish(message) } },
      maxAttempts: 1,
      observe: () => {},
    })
    const postgresStore = postgresInbox({ pool: this.#pool, schema: this.#schema, outbox: this.outbox })
    const isOnRedis = smsOn === 'redis'
    this.sms = this.#consumer('sms-sender', isOnRedis ? this.#redisStore : postgresStore, settings)
    this.email = this.#consumer('email-sender', isOnRedis ? postgresStore : this.#redisStore, settings)
  }

  static async open(options: RigOptions = {}): Promise<Rig> {
    // Lists look through all keys of a Redis: the shared one has those of all other tests.
    const [cluster, rabbit, redis, postgres] = await Promise.all([
      Cluster.open(),
      Rabbit.open(),
      startPrivateRedis(),
      server('postgres'),
    ])
    const topic = await cluster.topic(2)
    const redisProxy = await startFaultProxy(redis.port)
    const rig = new Rig(cluster, rabbit, { ...options, topic, redisProxy, postgres: postgres.url })
    // What is too old for this queue goes where the consumer puts its dead letters.
    const dying = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': `${rig.queue}.dead-letter` }
    await rabbit.declare(rig.queue, { 'x-queue-type': 'quorum', ...dying })
    await rabbit.declare(`${rig.queue}.dead-letter`)
    const kafka = runKafka(cluster.client(), rig.sms, rig.#kafkaOptions)
    const amqp = runRabbit(rabbit.url, rig.email, rig.#rabbitOptions)
    rig.#running.push(kafka, amqp)
    await Promise.all([kafka, amqp])
    return rig
  }

  get group(): string {
    return this.#group
  }

  /** As a screen names it in its address. */
  get smsId(): string {
    return `${this.#group}/sms-sender`
  }

  get emailId(): string {
    return `${this.queue}/email-sender`
  }

  get emailAdmin(): Admin {
    return adminOf(this.email, { group: this.queue, origins: [this.queue] })
  }

  get smsAdmin(): Admin {
    return adminOf(this.sms, { group: this.#group, origins: [this.topic] })
  }

  /** Does something while no process consumes the queue. */
  async withoutEmail(work: () => Promise<void>): Promise<void> {
    const [, running] = this.#running
    await running?.stop()
    await work()
    const again = runRabbit(this.#rabbit.url, this.email, this.#rabbitOptions)
    this.#running[1] = again
    await again
  }

  /** How many dead letters lie beside the queue. */
  emailDeadLetters(): Promise<number> {
    return this.#rabbit.ready(`${this.queue}.dead-letter`)
  }

  /** A message without an ID. */
  async sendNameless(): Promise<void> {
    await this.#cluster.send(this.topic, [bodyOf({ id: 'nobody reads it' })])
  }

  /** From now on every handler succeeds. */
  mend(): void {
    this.#isMended = true
  }

  /** In the outbox, until `mend()`; their relay parks them. */
  async refuse(ids: readonly string[]): Promise<void> {
    const client = await this.#pool.connect()
    await this.outbox.publish(
      client,
      ids.map((id) => ({
        topic: this.topic,
        value: bodyOf({ id }),
        messageId: id,
        headers: { id },
      })),
    )
    client.release()
    this.outbox.wake()
    await eventually(async () => (await this.outbox.refused()).filter(({ isParked }) => isParked).length === ids.length)
  }

  async #publish(message: IdentifiedMessage): Promise<void> {
    if (!this.#isMended) throw new BrokerError('BROKER_PUBLISH_REFUSED', 'the broker takes no message for this topic')
    await this.#publisher.publish(message)
  }

  /** How often a handler began for this message. */
  runsOf(id: string): number {
    return this.#runs.filter((one) => one === id).length
  }

  async sendSms(messages: readonly SentSms[]): Promise<void> {
    const values = messages.map((message) => ({
      value: bodyOf(message),
      headers: { ...message.headers, id: message.id },
    }))
    await this.#cluster.send(this.topic, values)
  }

  /** @param expiration - milliseconds after which a queue gives up a message that nobody took, as text */
  async sendEmails(messages: readonly SentSms[], expiration?: string): Promise<void> {
    const bodies = messages.map(bodyOf)
    await this.#rabbit.send(this.queue, bodies, {
      isNameless: true,
      headersOf: (text) => ({ id: (JSON.parse(text) as SentSms).id }),
      timestamp: Date.now(),
      ...(expiration === undefined ? {} : { expiration }),
    })
  }

  async serve(pages: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): Promise<ServedDashboard> {
    const board = await serveDashboard({
      consumers: [
        { consumer: this.sms, subscription: kafkaSubscription(this.#cluster.client(), this.#kafkaOptions) },
        { consumer: this.email, subscription: rabbitSubscription(this.#rabbit.url, this.#rabbitOptions) },
      ],
      live: this.#live,
      environment: { name: 'staging', color: '#d55e00' },
      showPayload: true,
      journals: this.#journals,
      timeoutMs: 3_000,
      readOnly,
      port: 0,
      pages,
    })
    this.#boards.push(board)
    return board
  }

  /** Parks messages that no broker has, for lists that are long. */
  async parkMany(count: number): Promise<void> {
    const { scope } = this.smsAdmin
    for (let from = 0; from < count; from += 1_000) {
      const items = Array.from({ length: Math.min(1_000, count - from) }, (_, at) => ({
        key: keyOf(from + at),
        digest: '',
      }))
      const token = uniqueName('token')
      const answers = await this.#redisStore.claim({
        scope,
        token,
        leaseMs: 60_000,
        retentionMs: 86_400_000,
        alone: false,
        items,
      })
      const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
      await this.#redisStore.setAside(claims, 'parked', {
        reason: 'in-doubt',
        cause: 'Error: the provider did not answer',
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.redisProxy.accept()
    await Promise.allSettled(this.#boards.map((board) => board.close()))
    await Promise.allSettled(this.#running.map((running) => running.stop({ deadlineMs: 5_000 })))
    await this.#publisher.close()
    await this.#pool.query(`drop schema if exists ${this.#schema} cascade`).catch(() => {})
    this.#redis.disconnect()
    await Promise.allSettled([this.#pool.end(), this.redisProxy.stop()])
    await Promise.allSettled([this.#cluster[Symbol.asyncDispose](), this.#rabbit[Symbol.asyncDispose]()])
    rmSync(this.#journals, { recursive: true, force: true })
  }

  get #kafkaOptions(): KafkaOptions {
    return { ...FAST, topics: [this.topic], group: this.#group, startAt: 'earliest' }
  }

  /** The queue is as an administrator declared it. */
  get #rabbitOptions(): RabbitOptions {
    return { queue: this.queue, setup: 'check' }
  }

  #consumer(name: string, store: Store<PgTransaction>, settings: NonNullable<RigOptions['settings']>): Consumer {
    return defineConsumer<SentSms, SentSms, PgTransaction>({
      name,
      id: messageId.header('id'),
      decode: (value) => JSON.parse(Buffer.from(value ?? []).toString()) as SentSms,
      store,
      ...(store.strategy === 'lease' ? ({ onInDoubt: 'park', leaseMs: 5_000 } as object) : {}),
      maxAttempts: 2,
      // Its IDs are no secret, and its provider takes so many.
      ...(name === 'email-sender' ? { logIds: true, limit: { perSecond: 500 } } : {}),
      ...settings,
      observe: this.#live,
      handle: ({ payload }) => {
        this.#runs.push(payload.id)
        if (this.#isMended) return
        if (payload.fate === 'fails') throw new TerminalError(decodeURIComponent(payload.error ?? 'no such number'))
        if (payload.fate === 'later') throw new Error('the provider answers 503')
        if (payload.fate === 'unknown') throw new OutcomeUnknownError('the provider did not answer')
      },
    })
  }
}

function bodyOf({ id, fate = 'ok', text, error }: SentSms): string {
  return JSON.stringify({ id, fate, text, error })
}

/** 22 characters, the last of which has four bits that are zero. */
function keyOf(number: number): Key {
  return `${String(number).padStart(8, '0')}${'x'.repeat(13)}A`
}
