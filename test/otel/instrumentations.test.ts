import { beforeEach, describe, expect, it } from '@jest/globals'
import { Cluster } from '../kafka/kit.ts'
import { openedOnce } from '../kit/opened.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { spansOf, type ProgramConfig, type SeenSpan } from './traced-process.ts'

const PRODUCER = 'b7ad6b7169203331'
const TRACEPARENT = `00-0af7651916cd43dd8448eb211c80319c-${PRODUCER}-01`
/** The second is handled in its second attempt. */
const SENT = [
  { id: 'a', value: 'once' },
  { id: 'b', value: 'fails once' },
] as const
/** Sent when the others have ended. */
const DUPLICATE = SENT[0]
const ORDERS = ['before', 'after'] as const

const processSpans = (spans: readonly SeenSpan[]): readonly SeenSpan[] =>
  spans.filter(({ kind }) => kind === 'CONSUMER')
const valuesOf = (spans: readonly SeenSpan[], name: string): string[] =>
  spans.flatMap(({ attributes }) => attributes[name] ?? []).map(String)
const outcomes = (spans: readonly SeenSpan[]): string[] => valuesOf(spans, 'consume_once.outcome')
const offsets = (spans: readonly SeenSpan[]): string[] => valuesOf(spans, 'messaging.kafka.offset')
const byText = (a: string, b: string): number => a.localeCompare(b)

/** Every span of a step belongs to a span of a message. */
function expectSteps(spans: readonly SeenSpan[]): void {
  const ids = new Set(spans.filter(({ attributes }) => attributes['consume_once.outcome']).map(({ spanId }) => spanId))
  const steps = spans.filter(({ name }) => name === 'consume_once.claim' || name === 'consume_once.mark')
  expect(steps.length).toBeGreaterThanOrEqual(5)
  expect(steps.filter(({ parentId }) => parentId === undefined || !ids.has(parentId))).toEqual([])
}

describe('with the instrumentation of kafkajs', () => {
  let cluster: Cluster
  let topic: string
  openedOnce(Cluster, (made) => (cluster = made))

  beforeEach(async () => {
    topic = await cluster.topic()
    for (const message of SENT) await send(message)
  })

  const send = ({ id, value }: (typeof SENT)[number]): Promise<void> =>
    cluster.send(topic, [{ key: null, value, headers: { id, traceparent: TRACEPARENT } }])
  const run = (instrumented: ProgramConfig['instrumented'], way: ProgramConfig['way']): Promise<readonly SeenSpan[]> =>
    spansOf(
      { broker: 'kafka', servers: cluster.brokers, destination: topic, instrumented, way, deliveries: 3 },
      (count) => count === 2 && void send(DUPLICATE),
    )

  it.each(ORDERS)('registered %s the client, runKafka makes the only process span of an attempt', async (order) => {
    const spans = await run(order, 'own')
    const all = processSpans(spans)
    expect(new Set(all.map(({ by }) => by))).toEqual(new Set(['consume-once']))
    expect(outcomes(all).toSorted(byText)).toEqual(['duplicate', 'handled', 'handled', 'rerun'])
    expect(offsets(all).toSorted(byText)).toEqual(['0', '1', '1', '2'])
    expect(all.filter(({ links }) => !links.includes(PRODUCER))).toEqual([])
    const first = all.find(({ attributes }) => String(attributes['messaging.kafka.offset']) === '0')
    const duplicate = all.find(({ attributes }) => attributes['consume_once.outcome'] === 'duplicate')
    expect(duplicate?.links).toContain(first?.spanId)
    // The instrumentation was active, and still tells what is fetched.
    expect(spans.some(({ name }) => name === `poll ${topic}`)).toBe(order === 'before')
    expectSteps(spans)
  })

  it('registered before the client, eachMessage uses the spans of the instrumentation', async () => {
    const spans = await run('before', 'each message')
    const all = processSpans(spans)
    expect(new Set(all.map(({ by }) => by))).toEqual(new Set(['@opentelemetry/instrumentation-kafkajs']))
    expect(offsets(all).toSorted(byText)).toEqual(['0', '1', '2'])
    expect(outcomes(all)).toEqual(['handled', 'handled', 'duplicate'])
    expect(all.map(({ status }) => status)).toEqual(['UNSET', 'UNSET', 'UNSET'])
    expect(all[2]?.links).toContain(all[0]?.spanId)
    expectSteps(spans)
  })

  it('registered after the client, eachMessage makes the spans', async () => {
    const all = processSpans(await run('after', 'each message'))
    expect(new Set(all.map(({ by }) => by))).toEqual(new Set(['consume-once']))
    expect(outcomes(all)).toEqual(['handled', 'rerun', 'handled', 'duplicate'])
  })

  it('registered before the client, eachBatch adds no process span to those of the instrumentation', async () => {
    const spans = await run('before', 'each batch')
    const all = processSpans(spans)
    expect(new Set(all.map(({ by }) => by))).toEqual(new Set(['@opentelemetry/instrumentation-kafkajs']))
    expect(all).toHaveLength(3)
    const own = spans.filter(({ name }) => name === `consume_once.process ${topic}`)
    expect(outcomes(own).toSorted(byText)).toEqual(['duplicate', 'handled', 'handled', 'rerun'])
    expect(new Set(own.map(({ kind }) => kind))).toEqual(new Set(['INTERNAL']))
    expectSteps(spans)
  })
})

describe('with the instrumentation of amqplib', () => {
  let rabbit: Rabbit
  let queue: string
  openedOnce(Rabbit, (made) => (rabbit = made))

  beforeEach(async () => {
    queue = rabbit.name()
    await rabbit.declare(queue)
    for (const message of SENT) await send(message)
  })

  const send = ({ id, value }: (typeof SENT)[number]): Promise<void> =>
    rabbit.send(queue, [value], { headersOf: () => ({ id, traceparent: TRACEPARENT }) })
  const run = (instrumented: ProgramConfig['instrumented'], way: ProgramConfig['way']): Promise<readonly SeenSpan[]> =>
    spansOf(
      { broker: 'rabbitmq', servers: [rabbit.url], destination: queue, instrumented, way, deliveries: 3 },
      (count) => count === 2 && void send(DUPLICATE),
    )

  it.each(['own', 'drop-in'] as const)(
    'registered before the client, its spans are used and end with the ack (%s)',
    async (way) => {
      const spans = await run('before', way)
      const all = processSpans(spans)
      expect(new Set(all.map(({ by }) => by))).toEqual(new Set(['@opentelemetry/instrumentation-amqplib']))
      expect(all.map(({ name }) => name)).toEqual([`${queue} process`, `${queue} process`, `${queue} process`])
      expect(outcomes(all).toSorted(byText)).toEqual(['duplicate', 'handled', 'handled'])
      // An error would say that the span was not ended by an ack.
      expect(all.map(({ status }) => status)).toEqual(['UNSET', 'UNSET', 'UNSET'])
      expect(all.filter(({ parentId }) => parentId !== PRODUCER)).toEqual([])
      expectSteps(spans)
    },
  )

  it.each(['own', 'drop-in'] as const)('registered after the client, the library makes the spans (%s)', async (way) => {
    const spans = await run('after', way)
    const all = processSpans(spans)
    expect(new Set(all.map(({ by }) => by))).toEqual(new Set(['consume-once']))
    expect(outcomes(all).toSorted(byText)).toEqual(['duplicate', 'handled', 'handled', 'rerun'])
    expect(all.filter(({ links }) => !links.includes(PRODUCER))).toEqual([])
    expectSteps(spans)
  })
})
