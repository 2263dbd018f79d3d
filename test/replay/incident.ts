import { removeKeys, withRedis } from '../kit/servers/clients.ts'
import { Pool } from 'pg'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import type { Running } from '../../src/index.ts'
import { redrive, type RedriveOptions, type RedriveResult } from '../../src/replay/index.ts'
import { Cli, dataOf, type CliRun, type RunOptions } from '../kit/cli-process.ts'
import { Cluster } from '../kafka/kit.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { kafkaClient, kafkaOptions, replayed, type Replayed, type ReplaySettings } from './settings.ts'

export type BrokerName = 'kafka' | 'rabbitmq'
export type StoreName = 'postgres' | 'redis'

export interface Place {
  /** @defaultValue 3 */
  readonly partitions?: number
  /** Servers of the test itself. @defaultValue those of the run */
  readonly brokers?: string[]
  readonly rabbitmq?: string
  readonly postgres?: string
  readonly redis?: string
}

export interface Sent {
  readonly id: string
  readonly tenant?: string
}

/** A broker, a store, and the tool, with everything that an incident leaves behind. Ends with the test. */
export class Incident implements AsyncDisposable {
  readonly cli: Cli = new Cli()
  readonly settings: ReplaySettings
  readonly cluster: Cluster | undefined
  readonly rabbit: Rabbit | undefined
  readonly #closing: (() => Promise<unknown>)[] = []
  readonly #now: Replayed

  private constructor(settings: ReplaySettings, cluster: Cluster | undefined, rabbit: Rabbit | undefined) {
    this.settings = settings
    this.cluster = cluster
    this.rabbit = rabbit
    this.#now = replayed(settings)
  }

  static async on(broker: BrokerName, store: StoreName, place: Place = {}): Promise<Incident> {
    const cluster = broker === 'kafka' ? await Cluster.open(place.brokers) : undefined
    const rabbit = broker === 'rabbitmq' ? await Rabbit.open(place.rabbitmq) : undefined
    const settings: ReplaySettings = {
      group: uniqueName('group'),
      broker:
        cluster === undefined
          ? { amqp: rabbit?.url ?? '', queue: rabbit?.name() ?? '' }
          : { kafka: cluster.brokers, topic: await cluster.topic(place.partitions ?? 3) },
      store:
        store === 'postgres'
          ? { postgres: place.postgres ?? (await server('postgres')).url, schema: uniqueName('replay') }
          : { redis: place.redis ?? (await server('redis')).url, prefix: uniqueName('replay') },
    }
    const incident = new Incident(settings, cluster, rabbit)
    await incident.#prepareStore()
    await rabbit?.declare(incident.place)
    return incident
  }

  /** Topic or queue. */
  get place(): string {
    return 'kafka' in this.settings.broker ? this.settings.broker.topic : this.settings.broker.queue
  }

  get from(): string {
    return `${'kafka' in this.settings.broker ? 'kafka' : 'rabbitmq'}:${this.place}`
  }

  get group(): string {
    return this.#now.subscription.group
  }

  /** @param stamped - with the time of sending; amqplib sets none by itself */
  async send(messages: readonly Sent[], stamped = true): Promise<void> {
    const { cluster, rabbit } = this
    const bodyOf = ({ id, tenant = 'acme' }: Sent): string => JSON.stringify({ id, tenant, to: `+49${id}` })
    if (cluster !== undefined) {
      const partitions =
        (await cluster.admin.fetchTopicMetadata({ topics: [this.place] })).topics[0]?.partitions.length ?? 1
      for (let partition = 0; partition < partitions; partition++) {
        const own = messages.filter((_, at) => at % partitions === partition)
        const records = own.map((one) => ({ key: one.id, value: bodyOf(one), headers: { id: one.id } }))
        if (records.length > 0) await cluster.send(this.place, records, partition)
      }
    }
    const stamp = stamped ? { timestamp: Date.now() } : {}
    const headersOf = (text: string): Record<string, string> => ({ id: (JSON.parse(text) as Sent).id })
    await rabbit?.send(this.place, messages.map(bodyOf), { headersOf, ...stamp })
  }

  /** The live consumer, until `isOver`. */
  async live(isOver: () => Promise<boolean>, more: Partial<ReplaySettings> = {}): Promise<void> {
    await using running = await this.start(more)
    await eventually(isOver, 60_000)
    await running.stop()
  }

  async start(more: Partial<ReplaySettings> = {}): Promise<Running> {
    const settings = { ...this.settings, ...more }
    const { consumer, ...opened } = replayed(settings)
    this.#closing.push(() => opened.close())
    const { broker } = settings
    return 'kafka' in broker
      ? runKafka(kafkaClient(broker.kafka), consumer, kafkaOptions(settings))
      : runRabbit(broker.amqp, consumer, { queue: broker.queue })
  }

  effects(): Promise<readonly string[]> {
    return this.#now.effects()
  }

  redrive(options: RedriveOptions): Promise<RedriveResult> {
    return redrive(this.#now.consumer, this.#now.subscription, options).result
  }

  /** How many dead letters lie there. */
  async deadLetters(): Promise<number> {
    return (await this.redrive({ dryRun: true })).looked
  }

  /** For `live`: so many effects have happened. */
  hasEffects(count: number): () => Promise<boolean> {
    return async () => (await this.effects()).length >= count
  }

  /** For `live`: so many effects have happened, and so many dead letters lie there. */
  hasEffectsAndDeadLetters(effects: number, deadLetters: number): () => Promise<boolean> {
    return async () => (await this.effects()).length === effects && (await this.deadLetters()) === deadLetters
  }

  run(args: readonly string[], more: Partial<ReplaySettings> = {}, how: RunOptions = {}): Promise<CliRun> {
    // A redrive writes its journal here.
    return this.cli.run(args, { ...how, env: this.env(more), cwd: this.cli.dir })
  }

  env(more: Partial<ReplaySettings> = {}): Readonly<Record<string, string>> {
    return {
      CONSUME_ONCE_CONFIG: 'test/cli/replay.config.ts',
      TEST_REPLAY: JSON.stringify({ ...this.settings, ...more }),
    }
  }

  /** The tool's answer as JSON. */
  async json<T>(args: readonly string[], more: Partial<ReplaySettings> = {}): Promise<T> {
    return dataOf(await this.run([...args, '--json'], more)) as T
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#closing.map((close) => close()))
    await this.#now.close()
    await this.#dropStore()
    await Promise.allSettled([this.cluster?.[Symbol.asyncDispose](), this.rabbit?.[Symbol.asyncDispose]()])
    this.cli[Symbol.dispose]()
  }

  async #prepareStore(): Promise<void> {
    const { store } = this.settings
    if (!('postgres' in store)) return
    const pool = new Pool({ connectionString: store.postgres, max: 1 })
    await pool.query(`create schema ${store.schema}; create table ${store.schema}.effect (id text not null)`)
    await pool.end()
  }

  async #dropStore(): Promise<void> {
    const { store } = this.settings
    if ('postgres' in store) {
      const pool = new Pool({ connectionString: store.postgres, max: 1 })
      await pool.query(`drop schema if exists ${store.schema} cascade`)
      await pool.end()
      return
    }
    await withRedis(store.redis, (redis) => removeKeys(redis, store.prefix))
  }
}

export function sms(count: number, prefix = 'm', tenant = 'acme'): readonly Sent[] {
  return Array.from({ length: count }, (_, at) => ({ id: `${prefix}${at}`, tenant }))
}
