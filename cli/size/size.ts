import { durationText } from '../../src/core/duration-text.ts'
import { bytesText, countText, percentText } from './amounts.ts'
import {
  COSTS,
  COUNTED,
  DIGESTS,
  GROWN_TO,
  NO_DIGESTS,
  originText,
  QUEUE_RATE,
  type Cost,
  type StoreCosts,
} from './costs.ts'
import { limitsOf, type Limit } from './limits.ts'
import type { Load } from './load.ts'
import { countedText } from '../../src/core/counted-text.ts'

/** One figure, and how it came about. */
export interface Line {
  readonly name: string
  /** `undefined`: what it is computed from was not recorded. */
  readonly value: number | undefined
  readonly unit: 'bytes' | 'bytes a second' | 'a second' | ''
  readonly how: string
  readonly from: readonly string[]
}

export interface Size {
  readonly lines: readonly Line[]
  /** The least of all limits of one server; `undefined`: none was recorded. */
  readonly limit: Limit | undefined
  readonly serves: boolean | undefined
  readonly notes: readonly string[]
}

/** A core that is busier answers late. */
const BUSY = 0.7
/** How much more than the average comes at once. */
const BURST = 1.5
/** Defaults of the library: `test/unit/cli/size.test.ts` compares them. */
export const DEFAULTS = { concurrency: 64, transactions: 4, batchSize: 100, handleBatchSize: 500, leastInFlight: 500 }
const MOST_IN_FLIGHT_BYTES = 32 * 2 ** 20
const MOST_CONNECTIONS = 100

/** What a load wants, by the costs that were recorded. */
export function sizeOf(load: Load): Size {
  const costs = costsOf(load)
  const handled = load.rate * (1 - load.duplicates)
  const records = (handled * load.retentionMs) / 1_000
  const processes = processesOf(load, costs)
  const limit = limitsOf(load, costs, BUSY).toSorted((a, b) => a.rate - b.rate)[0]
  const slots = slotsOf(load, costs, handled, processes)
  const lines: readonly Line[] = [
    line('messages handled', handled, 'a second', `${perSecond(load.rate)} x (1 - ${percentText(load.duplicates)})`),
    line('records', records, '', `${perSecond(handled)} x ${durationText(load.retentionMs)} of retention`),
    ...(costs.server === 'Redis' ? redisLines(costs, records) : databaseLines(costs, records)),
    ...writeLines(load, costs, handled),
    ...processes.lines,
    ...slots.lines,
  ]
  return {
    lines,
    limit,
    serves: limit === undefined ? undefined : limit.rate >= load.rate,
    notes: notesOf(costs, records, slots.connections),
  }
}

export function costsOf({ store, isBatch }: Pick<Load, 'store' | 'isBatch'>): StoreCosts {
  const { handle, handleBatch } = COSTS[store]
  return isBatch ? (handleBatch ?? handle) : handle
}

function redisLines({ bytesEach }: StoreCosts, records: number): readonly Line[] {
  const bytes = times(records, bytesEach)
  return [
    line('memory of the records', bytes, 'bytes', `${countText(records)} x ${bytesEach?.value} B`, bytesEach),
    line('memory to provide', times(2, bytes), 'bytes', '2 x: a rewrite of the append-only file may copy all of it'),
    line(
      'disk, at most',
      times(3, bytes),
      'bytes',
      '3 x: the file grows to twice its size (auto-aof-rewrite-percentage 100), beside the new one',
    ),
  ]
}

function databaseLines({ bytesEach }: StoreCosts, records: number): readonly Line[] {
  const bytes = times(records, bytesEach)
  const how = bytesEach === undefined ? 'bytes of a row: not recorded' : `${countText(records)} x ${bytesEach.value} B`
  return [
    line('disk of the records', bytes, 'bytes', how, bytesEach),
    line(
      'disk to provide',
      times(1.2, bytes),
      'bytes',
      bytes === undefined ? 'not recorded' : '1.2 x: dead rows until autovacuum (autovacuum_vacuum_scale_factor 0.2)',
    ),
  ]
}

function writeLines(load: Load, costs: StoreCosts, handled: number): readonly Line[] {
  const each = costs.writes.value / COUNTED.handled
  const isRedis = costs.server === 'Redis'
  const purged = isRedis ? 0 : 1
  const commits = costs.commits
  // A lease sends the key of each delivery, and again that of each mark.
  const [sends, counted] =
    costs.strategy === 'lease'
      ? [load.rate + handled, COUNTED.deliveries + COUNTED.handled]
      : [load.rate, COUNTED.deliveries]
  const sent = costs.bytesSent.value / counted
  return [
    line(
      isRedis ? 'keys written' : 'rows written',
      handled * (each + purged),
      'a second',
      `${perSecond(handled)} x ${isRedis ? countText(each) : `(${countText(each)} + 1 that the purge deletes)`}`,
      costs.writes,
    ),
    ...(commits === undefined
      ? []
      : [
          line(
            'COMMITs, at least',
            (load.rate * commits.value) / COUNTED.deliveries,
            'a second' as const,
            `${perSecond(load.rate)} x ${commits.value} / 1,000 with full batches; ${perSecond(load.rate)} one by one`,
            commits,
          ),
        ]),
    line(
      'sent to the store',
      sends * sent,
      'bytes a second',
      `${perSecond(sends)} ${costs.strategy === 'lease' ? 'claims and marks' : 'claims'} x ${countText(sent)} B`,
      costs.bytesSent,
    ),
  ]
}

interface Processes {
  readonly needed: number
  readonly started: number
  readonly lines: readonly Line[]
}

function processesOf({ rate, broker, payloadBytes }: Load, { cpu }: StoreCosts): Processes {
  const cost = cpu[broker]
  if (cost === undefined) {
    const how = 'CPU of a message: not recorded; one that does the work, and one for when it dies'
    return { needed: 1, started: 2, lines: [line('processes', 2, '', how)] }
  }
  const furtherKb = Math.max(0, payloadBytes / 1_024 - 1)
  const digest = DIGESTS.value - NO_DIGESTS.value
  const microseconds = cost.value + furtherKb * digest
  const cores = (rate * microseconds) / 1e6
  const needed = Math.max(1, Math.ceil(cores / BUSY))
  const further = furtherKb === 0 ? '' : ` + ${countText(furtherKb)} KB x ${countText(digest)} us`
  const each = further === '' ? `${cost.value} us` : `(${cost.value} us${further})`
  const what = further === '' ? [cost] : [cost, DIGESTS, NO_DIGESTS]
  return {
    needed,
    started: needed + 1,
    lines: [
      line('cores of the consumers', cores, '', `${perSecond(rate)} x ${each}; your handler beside it`, ...what),
      line(
        'processes',
        needed + 1,
        '',
        `${countText(cores)} cores / ${BUSY}, one core each, and one for when one dies`,
      ),
    ],
  }
}

interface Slots {
  readonly lines: readonly Line[]
  readonly connections: number
}

function slotsOf(load: Load, costs: StoreCosts, handled: number, { needed, started }: Processes): Slots {
  const { isBatch, handlerMs, broker } = load
  const batchSize = isBatch ? DEFAULTS.handleBatchSize : DEFAULTS.batchSize
  const calls = isBatch ? handled / batchSize : handled
  const busy = (calls * handlerMs) / 1_000
  const isLease = costs.strategy === 'lease'
  const least = isLease ? DEFAULTS.concurrency : DEFAULTS.transactions
  const each = Math.max(least, Math.ceil((busy * BURST) / needed))
  const atOnce = isLease ? each : each * batchSize
  const perBatch = isBatch ? ` / ${batchSize} of a batch` : ''
  const over = needed === 1 ? '' : ` / ${needed} processes`
  const pool = each + 1
  return {
    connections: costs.server === 'Redis' ? started : started * (isLease ? 1 : pool),
    lines: [
      line('handlers at once', busy, '', `${perSecond(handled)}${perBatch} x ${countText(handlerMs)} ms`),
      line(
        isLease ? 'concurrency' : 'transactions',
        each,
        '',
        `${countText(busy)} x ${BURST} for bursts${over}, ${least} at least, for each process`,
      ),
      ...(isLease
        ? []
        : [
            line('batchSize', batchSize, '', `the default with ${isBatch ? 'handleBatch' : 'handle'}`),
            line('connections of a pool', pool, '', `${each} transactions + 1`),
          ]),
      ...(broker === 'kafka' ? kafkaLines(load, started, atOnce) : rabbitLines(load, atOnce)),
    ],
  }
}

function kafkaLines({ payloadBytes }: Load, processes: number, atOnce: number): readonly Line[] {
  const inFlight = Math.max(DEFAULTS.leastInFlight, 2 * atOnce)
  const bytes = Math.min(inFlight * payloadBytes, MOST_IN_FLIGHT_BYTES)
  return [
    line(
      'partitions',
      2 * processes,
      '',
      `2 x ${countedText(processes, 'process', 'processes')}: twice as many may work one day`,
    ),
    line(
      'in flight in a process, at most',
      2 * bytes,
      'bytes',
      `2 partitions x ${countText(inFlight)} (maxInFlight) x ${bytesText(payloadBytes)}, 32 MiB a partition at most`,
    ),
  ]
}

function rabbitLines({ rate, payloadBytes }: Load, atOnce: number): readonly Line[] {
  const prefetch = Math.min(1_000, Math.max(10, 2 * atOnce))
  const queues = Math.ceil(rate / (BUSY * QUEUE_RATE.value))
  return [
    line('queues', queues, '', `${perSecond(rate)} / (${BUSY} x ${countText(QUEUE_RATE.value)})`, QUEUE_RATE),
    line('prefetch', prefetch, '', `2 x ${countText(atOnce)}, from 10 to 1,000`),
    line(
      'in flight in a process, at most',
      prefetch * payloadBytes,
      'bytes',
      `${prefetch} x ${bytesText(payloadBytes)}`,
    ),
  ]
}

function notesOf({ server, rate }: StoreCosts, records: number, connections: number): readonly string[] {
  const notes: string[] = []
  if (records > GROWN_TO && rate !== undefined) {
    notes.push(
      `Claims were measured among up to ${countText(GROWN_TO)} records (bench/results/growth.json), not among ${countText(records)}.`,
    )
  }
  if (rate === undefined) notes.push('Rate of one server: not recorded. Measure it before you rely on it.')
  if (server === 'Postgres' && connections > MOST_CONNECTIONS) {
    notes.push(
      `${connections} connections of all processes are more than the ${MOST_CONNECTIONS} of Postgres (max_connections): raise it, or put a pooler in front.`,
    )
  }
  return notes
}

function line(
  name: string,
  value: number | undefined,
  unit: Line['unit'],
  how: string,
  ...costs: readonly (Cost | undefined)[]
): Line {
  return { name, value, unit, how, from: costs.flatMap((cost) => (cost === undefined ? [] : [originText(cost)])) }
}

function times(factor: number, cost: Cost | number | undefined): number | undefined {
  if (cost === undefined) return undefined
  return factor * (typeof cost === 'number' ? cost : cost.value)
}

function perSecond(count: number): string {
  return `${countText(count)}/s`
}
