// What a program consumes while the test ends its life, in place of examples/support/deployed.ts.
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { redisLease } from '../../../../adapters/redis/index.ts'
import { defineConsumer, messageId, type Consumer, type Running } from '../../../../src/index.ts'
import { Signal } from '../../signal.ts'
import { withCalls } from '../../store-with.ts'
import type { StopLine, StopSpec } from '../spec.ts'

export const port = 0

const spec = JSON.parse(process.env['STOP_SPEC'] ?? '') as StopSpec
const redis = new Redis(spec.redis.url)
const counts = new Map<string, number>()
const news = new Signal()
/** After the last join, and after the signal: until then handlers run, so that there is something to harm. */
const LINGER_MS = 40

/** Tells the test, and sends SIGTERM if this is the moment. */
function happens(what: string, id?: string): void {
  const nth = (counts.get(what) ?? 0) + 1
  counts.set(what, nth)
  say({ what, ...(id !== undefined && { id }) })
  const { moment } = spec
  if (what === moment.what && nth === moment.nth) signal()
  // A second signal, as npm and a shell may both send one.
  else if (what === 'ended' && count('signal') === 1) signal()
  news.notify()
}

function signal(): void {
  counts.set('signal', count('signal') + 1)
  say({ what: 'signal' })
  process.kill(process.pid, 'SIGTERM')
}

function say(line: StopLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

function count(what: string): number {
  return counts.get(what) ?? 0
}

const starter = spec.broker.kind === 'kafka' ? await onKafka(spec.broker) : await onRabbit(spec.broker)

export function start(): readonly Running[] {
  setImmediate(() => happens('start'))
  return spec.places.map((place, at) => starter(consumerOf(place, at), place))
}

export async function closeClients(): Promise<void> {
  await redis.quit()
  say({ what: 'closed' })
}

function consumerOf(place: string, at: number): Consumer {
  const lease = redisLease({ redis, prefix: spec.redis.prefix })
  return defineConsumer({
    name: 'worker',
    id: messageId.header('id'),
    onInDoubt: 'park',
    concurrency: 2,
    leaseMs: 30_000,
    store: withCalls(lease, {
      open: async () => {
        happens('open')
        await lease.open()
        if (at === 1) await news.until(() => count('begun') > 0 || count('signal') > 0)
        if (at === 1 && spec.isBroken === true) throw new Error('the store refuses')
        happens('opened')
      },
      claim: async (request) => {
        happens('claim')
        const answers = await lease.claim(request)
        for (const { verdict } of answers) {
          if (verdict === 'in-doubt' || verdict === 'taken-over' || verdict === 'parked') happens('doubt', verdict)
        }
        happens('claimed')
        return answers
      },
      mark: async (claims, results) => {
        happens('mark')
        const verdicts = await lease.mark(claims, results)
        happens('marked')
        return verdicts
      },
    }),
    handle: async ({ message }) => {
      const id = `${place} ${String(message.headers['id'])}`
      happens('begun', id)
      await news.until(() => count('joined') >= spec.places.length || count('signal') + count('start-failed') > 0)
      await sleep(LINGER_MS)
      happens('ended', id)
    },
    observe: (event) => {
      if (event.type === 'settles') happens('settled')
      else if (event.type === 'delivery') happens(event.outcome)
      else if (event.type === 'source') {
        const { event: name, detail } = event
        happens(name === 'group-joined' || name === 'consuming' ? 'joined' : name, detail)
      }
    },
  })
}

type BrokerOf<Kind> = Extract<StopSpec['broker'], { readonly kind: Kind }>
type Starter = (consumer: Consumer, place: string) => Running

async function onKafka({ brokers, options }: BrokerOf<'kafka'>): Promise<Starter> {
  const { Kafka, logLevel } = await import('kafkajs')
  const { runKafka } = await import('../../../../adapters/kafkajs/index.ts')
  return (consumer, place) => {
    const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } })
    const makeConsumer = kafka.consumer.bind(kafka)
    kafka.consumer = (config) => {
      const made = makeConsumer(config)
      // Each answer of the broker: FindCoordinator, JoinGroup, SyncGroup, OffsetFetch, Fetch, OffsetCommit, LeaveGroup.
      made.on(made.events.REQUEST, ({ payload }) => happens(payload.apiName))
      return made
    }
    return runKafka(kafka, consumer, { ...options, topics: [place], group: place })
  }
}

const METHODS = ['assertQueue', 'checkQueue', 'prefetch', 'consume', 'ack', 'cancel'] as const

async function onRabbit({ url }: BrokerOf<'rabbitmq'>): Promise<Starter> {
  const { connect } = await import('amqplib')
  const { runRabbit } = await import('../../../../adapters/amqplib/index.ts')
  const dial = async () => {
    happens('dial')
    const model = await connect(url)
    happens('dialled')
    const createChannel = model.createChannel.bind(model)
    model.createChannel = async () => {
      happens('createChannel')
      const channel = await createChannel()
      for (const name of METHODS) {
        const method = channel[name].bind(channel) as (...given: unknown[]) => unknown
        const told = (...given: unknown[]): unknown => {
          happens(name)
          return method(...given)
        }
        Object.assign(channel, { [name]: told })
      }
      return channel
    }
    return model
  }
  return (consumer, place) => runRabbit(dial, consumer, { queue: place })
}
