import { afterEach, beforeEach } from '@jest/globals'
import { runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import type { PgTransaction, PostgresOffsetsOptions } from '../../adapters/pg/index.ts'
import { defineConsumer, type BatchItem, type Running } from '../../src/index.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'

export interface Started {
  readonly running: Running
  readonly watching: Watching
  /** Payloads whose handler was started, with the attempt. */
  readonly starts: string[]
}

export interface Wanted extends Partial<KafkaOptions> {
  readonly store?: Partial<PostgresOffsetsOptions>
  readonly maxAttempts?: number
  /** Before the effect is written. */
  readonly before?: (payload: string, attempt: number) => unknown
  readonly batches?: boolean
}

/** A topic and a group of each test, whose effects and positions are in a place of Postgres. */
export class OnOffsets {
  readonly cluster: Cluster
  readonly place: PgPlace
  readonly topic: string
  readonly group: string = uniqueName('group')
  readonly #started: Running[] = []

  constructor(cluster: Cluster, place: PgPlace, topic: string) {
    this.cluster = cluster
    this.place = place
    this.topic = topic
  }

  send(values: Parameters<Cluster['send']>[1], partition = 0): Promise<void> {
    return this.cluster.send(this.topic, values, partition)
  }

  /** A consumer whose effect is the payload of each message. */
  async start({ store, before, batches, maxAttempts, ...options }: Wanted = {}): Promise<Started> {
    const { place } = this
    const watching = new Watching()
    const starts: string[] = []
    const act = async ({ payload, attempt }: Pick<BatchItem<string>, 'payload' | 'attempt'>): Promise<void> => {
      starts.push(`${payload} ${attempt}`)
      await before?.(payload, attempt)
    }
    const settings = {
      name: 'effects',
      decode: String,
      store: await place.newOffsets(store),
      backoff: { initialMs: 5, maxMs: 20 },
      graceMs: 200,
      observe: watching.observe,
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
    }
    const consumer =
      batches === true
        ? defineConsumer<string, string, PgTransaction>({
            ...settings,
            handleBatch: async ({ messages, tx }) => {
              for (const message of messages) await act(message)
              const payloads = messages.map(({ payload }) => payload)
              await tx.query(`insert into ${place.schema}.effect (name) select unnest($1::text[])`, [payloads])
            },
          })
        : defineConsumer<string, string, PgTransaction>({
            ...settings,
            handle: async (context) => {
              await act(context)
              await place.write(context.tx, context.payload)
            },
          })
    const running = await runKafka(this.cluster.client(), consumer, {
      ...FAST,
      topics: [this.topic],
      ...options,
      group: this.group,
      consumerConfig: { ...FAST.consumerConfig, ...options.consumerConfig },
    })
    this.#started.push(running)
    return { running, watching, starts }
  }

  async stop({ running }: Started): Promise<void> {
    this.#started.splice(this.#started.indexOf(running), 1)
    await running.stop({ deadlineMs: 500 })
  }

  /** One that has had so many effects. It is stopped. */
  async ranUntil(effects: number, wanted?: Wanted): Promise<void> {
    const started = await this.start(wanted)
    await this.untilEffects(effects)
    await this.stop(started)
  }

  /** All effects that are committed, in order. */
  async effects(): Promise<readonly string[]> {
    const { rows } = await this.place.pool.query(`select name from ${this.place.schema}.effect order by ctid`)
    return (rows as { name: string }[]).map(({ name }) => name)
  }

  untilEffects(count: number): Promise<void> {
    return eventually(async () => (await this.effects()).length >= count)
  }

  untilCommitted(...offsets: number[]): Promise<void> {
    return this.cluster.untilCommitted(this.group, this.topic, offsets)
  }

  async position(partition = 0): Promise<number | undefined> {
    return (await this.#stream(partition))?.n
  }

  /** Why its partition is held. */
  async heldWhy(): Promise<string | undefined> {
    return (await this.#stream(0))?.held ?? undefined
  }

  async #stream(partition: number): Promise<{ readonly n: number; readonly held: string | null } | undefined> {
    const { rows } = await this.place.pool.query<{ n: number; held: string | null }>(
      `select next_offset::int as n, held from ${this.place.schema}.position where stream = $1`,
      [`${this.topic}/${partition}`],
    )
    return rows[0]
  }

  async end(): Promise<void> {
    await Promise.all(this.#started.map((running) => running.stop({ deadlineMs: 500 })))
    await this.place.close()
  }
}

interface Openers {
  readonly open: (partitions?: number, config?: Readonly<Record<string, string>>) => Promise<OnOffsets>
  readonly cluster: () => Cluster
}

/** Opens them for the tests of a file, and ends them after each. */
export function onOffsets(): Openers {
  let cluster: Cluster
  let opened: OnOffsets[] = []
  openedOnce(Cluster, (made) => (cluster = made))
  beforeEach(() => void (opened = []))
  afterEach(() => Promise.all(opened.map((one) => one.end())))
  return {
    cluster: () => cluster,
    open: async (partitions = 1, config = {}) => {
      const one = new OnOffsets(cluster, await newPlace(), await cluster.topic(partitions, config))
      opened.push(one)
      return one
    },
  }
}

export const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index).padStart(3, '0'))
