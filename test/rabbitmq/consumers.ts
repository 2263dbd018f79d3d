import { RecordingIntake, Watching } from '../kit/recording-intake.ts'
import { runRabbit, type RabbitConnect, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import { defineConsumer, messageId, type ConsumerSettings, type HandlerContext, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { type Publisher, type Source } from '../../src/internal.ts'
import { Tap } from './tap.ts'

export type Handle = (context: HandlerContext<string>) => unknown

export interface Opened {
  readonly source: Source
  readonly publisher: Publisher
  readonly intake: RecordingIntake
  readonly tap: Tap
}

/** What a test started on RabbitMQ, with or without a pipeline. End it after each. */
export class Consumers {
  #sources: Source[] = []
  #running: Running[] = []

  /** Not opened. */
  broker(connect: RabbitConnect, options: RabbitOptions): ReturnType<typeof rabbitSource> {
    const broker = rabbitSource(connect, options)
    this.#sources.push(broker.source)
    return broker
  }

  /** Without a pipeline. */
  async open(url: string, options: RabbitOptions, intake: RecordingIntake = new RecordingIntake()): Promise<Opened> {
    const tap = new Tap(url)
    const { source, publisher } = this.broker(tap.connect, options)
    await source.open(intake)
    return { source, publisher, intake, tap }
  }

  async run(
    connect: RabbitConnect,
    options: RabbitOptions,
    handle: Handle,
    settings: Partial<ConsumerSettings<string, string, never>> = {},
  ): Promise<{ readonly running: Running; readonly watching: Watching }> {
    const watching = new Watching()
    const consumer = defineConsumer<string>({
      name: 'test',
      id: messageId.property(),
      decode: (value) => Buffer.from(value ?? []).toString(),
      store: memoryStore(),
      observe: watching.observe,
      handle,
      ...settings,
    })
    const running = await runRabbit(connect, consumer, options)
    this.#running.push(running)
    return { running, watching }
  }

  async end(): Promise<void> {
    const [sources, running] = [this.#sources.splice(0), this.#running.splice(0)]
    await Promise.all([...sources.map((one) => one.close()), ...running.map((one) => one.stop({ deadlineMs: 1 }))])
  }
}
