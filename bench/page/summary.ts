import { P50, P99 } from '../contenders/latency/delays.ts'
import { whole, type Report, type ScenarioReport } from '../report.ts'

type Reports = ReadonlyMap<string, Report>
type ContenderReport = ScenarioReport['contenders'][number]

interface Row {
  readonly title: string
  readonly at: readonly [suite: string, scenario: string]
  readonly contender: string
  readonly byHand: string
}

const SET_NX = 'loop with SET NX, 500'
const OUTBOX = 'postgresOutbox'
const BATCH = 'postgresInbox, handleBatch of 500'

/** What the library reaches at full speed, and what it is compared with. */
const RATES: readonly Row[] = [
  { title: 'Kafka, `redisLease`', at: ['kafka', 'redis'], contender: 'redisLease', byHand: SET_NX },
  {
    title: 'Kafka, `redisLease`, `concurrency: 256`',
    at: ['kafka', 'redis'],
    contender: 'redisLease, 256 at once',
    byHand: SET_NX,
  },
  {
    title: 'Kafka, `postgresInbox`, `handleBatch`',
    at: ['kafka', 'postgres-batch'],
    contender: BATCH,
    byHand: 'by hand, 500',
  },
  {
    title: 'Kafka, `postgresInbox`, `handle`',
    at: ['kafka', 'postgres-handle'],
    contender: 'postgresInbox',
    byHand: 'by hand, 100',
  },
  {
    title: 'RabbitMQ, `redisLease`',
    at: ['rabbitmq', 'redis-quorum'],
    contender: 'redisLease',
    byHand: 'SET NX, SET, ack each',
  },
  {
    title: 'RabbitMQ, `postgresInbox`, `handleBatch`',
    at: ['rabbitmq', 'postgres-quorum'],
    contender: BATCH,
    byHand: 'by hand, 500',
  },
  {
    title: 'RabbitMQ, `postgresInbox`, `handle`',
    at: ['rabbitmq', 'postgres-quorum'],
    contender: 'postgresInbox, handle',
    byHand: 'by hand, 100, rows one by one',
  },
  {
    title: 'Kafka, `postgresOutbox`: rows that wait, until they are confirmed',
    at: ['outbox', 'drain'],
    contender: OUTBOX,
    byHand: 'by hand',
  },
]

/** From the COMMIT of a message to the confirm of its broker, at 500 a second. */
const OUTBOX_PACE = [OUTBOX, 'by hand', 'pg-transactional-outbox'] as const

const PACES = [10, 100, 1_000]

/** Rates and delays of the library beside the same work by hand, as tables. Nothing where they are not recorded. */
export function summary(reports: Reports): readonly string[] {
  return [ratesOf(reports), delaysOf(reports), outboxDelaysOf(reports)].filter((one) => one !== undefined)
}

function ratesOf(reports: Reports): string | undefined {
  const rows = RATES.flatMap(({ title, at: [suite, scenario], contender, byHand }) => {
    const [ours, theirs] = [contender, byHand].map((name) => find(reports, suite, scenario, name))
    if (ours === undefined || theirs === undefined) return []
    return [[title, rate(ours), cpu(ours), rate(theirs), cpu(theirs)]]
  })
  const head = [
    'at full speed, handlers that do nothing or write a row',
    'messages/s',
    'CPU us each',
    'by hand',
    'CPU us each',
  ]
  return table(head, rows)
}

function delaysOf(reports: Reports): string | undefined {
  const rows = ['kafka', 'rabbitmq'].flatMap((system) =>
    ['redis', 'postgres'].flatMap((store) => {
      const cells = PACES.map((pace) => {
        const scenario = reports.get('latency')?.scenarios.find(({ name }) => name === `${system}-${store}-${pace}`)
        const [theirs, ours] = scenario?.contenders ?? []
        return ours === undefined || theirs === undefined ? '' : `${delay(ours)} (${delay(theirs)})`
      })
      const title = `${system === 'kafka' ? 'Kafka' : 'RabbitMQ'}, ${store === 'redis' ? '`redisLease`' : '`postgresInbox`'}`
      return cells.some((cell) => cell === '') ? [] : [[title, ...cells]]
    }),
  )
  const head = ['p50 / p99 in ms, arrival to durable mark (by hand)', ...PACES.map((pace) => `${whole(pace)} a second`)]
  return table(head, rows)
}

function outboxDelaysOf(reports: Reports): string | undefined {
  const contenders = OUTBOX_PACE.flatMap((name) => find(reports, 'outbox', 'pace', name) ?? [])
  if (contenders.length < OUTBOX_PACE.length) return undefined
  const head = ['p50 / p99 in ms, outbox in Postgres: COMMIT to confirm of Kafka', ...OUTBOX_PACE]
  return table(head, [['500 messages a second, each in a transaction', ...contenders.map(delay)]])
}

function find(reports: Reports, suite: string, scenario: string, contender: string): ContenderReport | undefined {
  const found = reports.get(suite)?.scenarios.find(({ name }) => name === scenario)
  return found?.contenders.find(({ name }) => name === contender)
}

const rate = ({ rate: { median } }: ContenderReport): string => whole(median)
const cpu = ({ cpuMicroseconds: { median } }: ContenderReport): string => median.toFixed(0)
const ms = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))
const delay = ({ figures }: ContenderReport): string =>
  `${ms(figures[P50]?.median ?? 0)} / ${ms(figures[P99]?.median ?? 0)}`

function table(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  if (rows.length === 0) return undefined
  const sides = head.map((_, column) => (column === 0 ? '---' : '--:'))
  return [head, sides, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
