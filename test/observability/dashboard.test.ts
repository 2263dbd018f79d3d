import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { parse } from 'yaml'
import { defineConsumer, messageId, OutcomeUnknownError, TerminalError } from 'consume-once'
import { serveHealth } from 'consume-once/health'
import { redisLease } from 'consume-once/redis'
import { confirmedPublisher, runKafka } from 'consume-once/kafkajs'
import { postgresInbox, postgresOutbox } from 'consume-once/pg'
import { prometheus } from 'consume-once/prometheus'
import type { Starting } from '../../src/ports/lifecycle.ts'
import { METRICS } from '../../src/signals/metrics.ts'
import { Cluster, FAST } from '../kafka/kit.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { startPrivatePrometheus, type PrivatePrometheus } from '../kit/servers/private-prometheus.ts'
import { newPlace } from '../pg/support.ts'
import { server } from '../kit/servers/server.ts'
import { labelsIn, namesIn } from './expressions.ts'

const RULES = resolve('observability/prometheus-alerts.yml')

interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string }[]
}

const { panels, templating } = JSON.parse(readFileSync('observability/grafana-dashboard.json', 'utf8')) as {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))

/** As Grafana fills in its variables, for a short history. */
function filledIn(expression: string): string {
  return expression.replaceAll('$__rate_interval', '10s').replaceAll('$__range', '1m').replaceAll('$consumer', '.*')
}

describe('observability/grafana-dashboard.json', () => {
  it('explains each panel', () => {
    for (const { type, title, description } of panels.filter((panel) => panel.type !== 'row')) {
      expect([title, type, description]).toEqual([
        title,
        expect.stringMatching(/stat|timeseries/),
        expect.stringMatching(/\.$/),
      ])
    }
  })

  it('asks only for metrics of the table and for their labels', () => {
    const labels = new Set([...METRICS.flatMap((metric) => metric.labels), 'instance', 'le'])
    for (const { title, expr } of queries) {
      expect([title, namesIn(expr).filter((name) => !METRICS.some((metric) => metric.name === name))]).toEqual([
        title,
        [],
      ])
      expect([title, labelsIn(expr).filter((label) => !labels.has(label))]).toEqual([title, []])
      expect([title, namesIn(expr).length]).not.toEqual([title, 0])
    }
  })

  it('shows every metric of the table, but for the lease', () => {
    const shown = new Set(queries.flatMap(({ expr }) => namesIn(expr)))
    const missing = METRICS.map(({ name }) => name).filter((name) => !shown.has(name))
    expect(missing).toEqual(NOT_SHOWN)
  })
})

/** Metrics of strategy `offsets`, metrics for alerts, and metrics that say little on a graph. */
const NOT_SHOWN = [
  'consume_once_purged_total',
  'consume_once_live',
  'consume_once_held_partitions',
  'consume_once_store_reading_age_seconds',
  'consume_once_lease_seconds',
]

/** Half of what it publishes is larger than the broker takes. */
async function runWithOutbox(
  cluster: Cluster,
  { topic, registry }: { readonly topic: string; readonly registry: Registry },
  ends: (() => unknown)[],
): Promise<Starting> {
  const place = await newPlace()
  ends.push(() => place.close())
  const pool = place.newPool()
  const { schema } = place
  const charged = await cluster.topic(1)
  const publisher = confirmedPublisher(cluster.client())
  ends.push(() => publisher.close())
  const outbox = postgresOutbox({ pool, schema, publishers: { kafka: publisher }, maxAttempts: 1, observe: () => {} })
  const consumer = defineConsumer({
    name: 'charges',
    store: postgresInbox({ pool, schema, outbox }),
    id: messageId.header('message-id'),
    observe: [prometheus({ registry })],
    handle: async ({ publish }) => {
      await publish({ topic: charged, value: 'one' })
      await publish({ topic: charged, value: Buffer.alloc(2_000_000) })
    },
  })
  const running = runKafka(cluster.client(), consumer, { ...FAST, topics: [topic], group: uniqueName('signals') })
  ends.push(() => running.stop())
  return running
}

describe('a Prometheus that scrapes consumers on Kafka, of Redis and of an outbox in Postgres', () => {
  /** In the order in which things began. */
  const ends: (() => unknown)[] = []
  let prometheusServer: PrivatePrometheus

  beforeAll(async () => {
    const cluster = await Cluster.open()
    ends.push(() => cluster[Symbol.asyncDispose]())
    const topic = await cluster.topic(2)
    const redis = new Redis((await server('redis')).url)
    ends.push(() => redis.disconnect())
    const registry = new Registry()
    const consumer = defineConsumer({
      name: 'sms-sender',
      store: redisLease({ redis, prefix: uniqueName('signals') }),
      id: messageId.header('message-id'),
      onInDoubt: 'park',
      limit: { perSecond: 1_000 },
      observe: [prometheus({ registry })],
      handle: async ({ message, attempt }) => {
        const id = String(message.headers['message-id'])
        await sleep(5)
        if (id.startsWith('flaky') && attempt === 1) throw new Error('503, try again')
        if (id.startsWith('bad')) throw new TerminalError('no such number')
        if (id.startsWith('unknown')) throw new OutcomeUnknownError('the provider did not answer')
      },
    })
    const running = runKafka(cluster.client(), consumer, { ...FAST, topics: [topic], group: uniqueName('signals') })
    ends.push(() => running.stop())
    const charging = await runWithOutbox(cluster, { topic, registry }, ends)
    const health = await serveHealth(running, { port: 0, host: '127.0.0.1', metrics: registry })
    ends.push(() => health.close())
    prometheusServer = await startPrivatePrometheus({ targets: [`127.0.0.1:${health.port}`], ruleFiles: [RULES] })
    ends.push(() => prometheusServer.stop())
    await Promise.all([running.ready(), charging.ready()])
    const seen = async (outcome: string): Promise<boolean> =>
      (await prometheusServer.query(`sum(rate(consume_once_deliveries_total{outcome="${outcome}"}[10s])) > 0`)).length >
      0
    const scrapedAt = async (): Promise<string> => (await prometheusServer.query('timestamp(up)'))[0]?.value[1] ?? ''
    // Traffic until all of it is in the history of Prometheus, which needs two scrapes for a rate.
    let round = 0
    await eventually(async () => {
      round++
      const ids = ['flaky', 'bad', 'unknown', 'a', 'a', 'b', 'c', 'a'].map((id) => `${id}-${round}`)
      const messages = ids.map((id) => ({ value: '{"to":"+1"}', headers: { 'message-id': id } }))
      await cluster.send(topic, [...messages, { value: '{}' }], round % 2)
      await cluster.send(topic, [{ value: '{"to":"+1"}', headers: { 'message-id': `b-${round - 1}` } }], round % 2)
      const before = await scrapedAt()
      await eventually(async () => (await scrapedAt()) !== before)
      const found = await Promise.all(['handled', 'duplicate', 'joined', 'dead-lettered', 'parked'].map(seen))
      return found.every(Boolean)
    }, 60_000)
    // The stores are asked every 15 s: what is parked by now is in the next answer.
    await eventually(
      async () =>
        (
          await prometheusServer.query(
            'sum(consume_once_parked_messages) > 0 and sum(consume_once_given_up_messages) > 0 and sum(consume_once_outbox_parked) > 0',
          )
        ).length > 0,
      40_000,
    )
  }, 300_000)
  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  }, 60_000)

  it('finds the target up, and each metric of the table', async () => {
    expect(await prometheusServer.query('up')).toMatchObject([{ value: [expect.anything(), '1'] }])
    const known = (await prometheusServer.api('label/__name__/values')) as string[]
    const found = new Set(known.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))
    // Only strategy `offsets` has it.
    expect(METRICS.map(({ name }) => name).filter((name) => !found.has(name))).toEqual(['consume_once_held_partitions'])
  })

  it('leaves no panel empty', async () => {
    const empty: string[] = []
    for (const { title, expr } of queries) {
      const series = await prometheusServer.query(filledIn(expr))
      if (!series.some(({ value }) => value[1] !== 'NaN')) empty.push(`${title}: ${expr}`)
    }
    expect(empty).toEqual([])
  })

  it('finds the consumers for the variable of the dashboard', async () => {
    const { definition } = templating.list.find(({ name }) => name === 'consumer') ?? {}
    const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? '') ?? []
    const known = await prometheusServer.query(`count by (${label}) (${metric})`)
    expect(new Set(known.map(({ metric: labels }) => labels['consumer']))).toEqual(new Set(['charges', 'sms-sender']))
  })

  it('evaluates each alert, and fires those that the traffic asks for', async () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] }
    for (const { expr } of groups.flatMap(({ rules }) => rules)) await prometheusServer.query(expr)
    const told = (await prometheusServer.api('rules')) as {
      groups: { rules: { name: string; health: string; state: string; lastError?: string }[] }[]
    }
    const all = told.groups.flatMap(({ rules }) => rules)
    expect(all.filter(({ health }) => health !== 'ok')).toEqual([])
    const due = all.filter(({ state }) => state !== 'inactive').map(({ name }) => name)
    expect(due).toEqual(
      expect.arrayContaining([
        'ConsumeOnceMessagesParked',
        'ConsumeOnceMessagesGivenUp',
        'ConsumeOnceDeadLetters',
        'ConsumeOnceInDoubt',
      ]),
    )
    expect(due).not.toContain('ConsumeOnceStoreDown')
    expect(due).not.toContain('ConsumeOnceInvariantBroken')
  })
})
