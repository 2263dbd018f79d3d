// Clients are loaded where they are used, as in stores.ts.
import { connect } from 'node:net'
import type { Kafka } from 'kafkajs'
import { runConsumer, type Consumer, type Publisher, type Source } from '../../../src/internal.ts'
import type { Started, WorkerHooks } from './module.ts'
import type { KafkaSpec, RabbitSpec, SourceSpec } from './spec.ts'

type Hooks = Pick<WorkerHooks<never>, 'lane' | 'publisher' | 'kafka' | 'rabbit'>

/**
 * What starts a consumer on a source, as `runKafka`, `runRabbit` or a client of the user's own would. Clients of the first two
 * are loaded by then.
 */
export async function starterOn(source: SourceSpec, consumer: Consumer, hooks: Hooks): Promise<() => Started> {
  switch (source.kind) {
    case 'kafka':
      if (source.dropIn !== undefined) return () => started(dropIntoKafka(source, consumer))
      return await onKafka(source, consumer, hooks)
    case 'rabbitmq':
      if (source.dropIn !== undefined) return () => started(dropIntoRabbit(source, consumer))
      return await onRabbit(source, consumer, hooks)
  }
}

async function onKafka(spec: KafkaSpec, consumer: Consumer, { kafka, publisher }: Hooks): Promise<() => Started> {
  const { kafkaSource } = await import('../../../adapters/kafkajs/client.ts')
  if (spec.library === 'platformatic') {
    const { platformaticKafka } = await import('../../../adapters/platformatic-kafka/index.ts')
    const platformatic = await import('@platformatic/kafka')
    const adapted = platformaticKafka(platformatic, { clientId: 'worker', bootstrapBrokers: [...spec.brokers] })
    return () => run(consumer, publisher, () => kafkaSource(adapted, spec.options, consumer.name))
  }
  const client = await clientOf(spec)
  return () => run(consumer, publisher, () => kafkaSource(kafka?.(client) ?? client, spec.options, consumer.name))
}

async function onRabbit(spec: RabbitSpec, consumer: Consumer, hooks: Hooks): Promise<() => Started> {
  const { rabbitSource } = await import('../../../adapters/amqplib/source-and-publisher.ts')
  const { rabbit, lane, publisher } = hooks
  const options = { ...spec.options, ...(lane && { lane }) }
  return () => run(consumer, publisher, () => rabbitSource(rabbit?.(spec.url) ?? spec.url, options, consumer.name))
}

interface Broker {
  readonly source: Source
  readonly publisher: Publisher
}

function run(consumer: Consumer, between: Hooks['publisher'], open: () => Broker): Started {
  const running = runConsumer(consumer, () => {
    const { source, publisher } = open()
    return { source, publisher: between?.(publisher) ?? publisher }
  })
  // Not itself: it is a promise of its start.
  return {
    ready: () => running.ready(),
    stop: (options) => running.stop(options),
    health: () => running.health(),
  }
}

async function clientOf({ brokers, port, client }: KafkaSpec): Promise<Kafka> {
  const { Kafka: Client, logLevel } = await import('kafkajs')
  return new Client({
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    ...client,
    ...(port !== undefined && { socketFactory: ({ onConnect }) => connect(port, '127.0.0.1', onConnect) }),
  })
}

type Stop = Started['stop']

/** A start that cannot be cancelled. */
function started(starting: Promise<Stop>): Started {
  return {
    ready: async () => {
      await starting
      return 'ready'
    },
    stop: async (options) => (await starting)(options),
  }
}

const HEARTBEAT_EVERY_MS = 200

async function dropIntoKafka(spec: KafkaSpec, consumer: Consumer): Promise<Stop> {
  const { eachBatch, eachMessage } = await import('../../../adapters/kafkajs/index.ts')
  const { topics, group, consumerConfig: config } = spec.options
  const kafka = await clientOf(spec)
  const options = { group, kafka, heartbeatEveryMs: HEARTBEAT_EVERY_MS }
  const { partitionAssigners: _, ...ownConfig } = config ?? {}
  const own = kafka.consumer({ ...ownConfig, groupId: group })
  await own.connect()
  await own.subscribe({ topics: [...topics], fromBeginning: true })
  const [onMessage, onBatch] = [eachMessage(consumer, options), eachBatch(consumer, options)]
  const handle = spec.dropIn === 'eachMessage' ? onMessage : onBatch
  await own.run(
    spec.dropIn === 'eachMessage' ? { eachMessage: onMessage } : { eachBatch: onBatch, eachBatchAutoResolve: false },
  )
  return async (stop) => {
    await Promise.all([own.stop(), handle.stop(stop)])
    await own.disconnect()
  }
}

async function dropIntoRabbit({ url, options }: RabbitSpec, consumer: Consumer): Promise<Stop> {
  const { connect: connectTo } = await import('amqplib')
  const { onMessage } = await import('../../../adapters/amqplib/index.ts')
  const { queue, prefetch = 50 } = options
  const connection = await connectTo(url)
  const channel = await connection.createChannel()
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.prefetch(prefetch)
  const handle = onMessage(channel, consumer, { queue })
  const { consumerTag } = await channel.consume(queue, handle, { noAck: false })
  return async (stop) => {
    await channel.cancel(consumerTag)
    await handle.stop(stop)
    await connection.close()
  }
}
