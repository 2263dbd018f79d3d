import { bytesText, countText } from './amounts.ts'
import { COSTS, originText, type StoreCosts } from './costs.ts'
import type { Load } from './load.ts'

/** Where one server ends, and what comes then. */
export interface Limit {
  /** Deliveries a second, with all else as it is. */
  readonly rate: number
  readonly how: string
  readonly beyond: readonly string[]
}

const SEQUENCES =
  'number the messages: sequences keep one mark for each sender instead of each message (docs/guards.md)'
const OFFSETS = 'on Kafka postgresOffsets: one position for each partition, no row for a message (docs/kafka.md)'
const SHORTER = 'shorten retentionMs, but keep it longer than the broker can redeliver and than you would replay'

/** All limits that were recorded. @param busy - the part of a recorded rate that one server should carry */
export function limitsOf(load: Load, costs: StoreCosts, busy: number): readonly Limit[] {
  return [...byRate(load, costs, busy), ...bySpace(load, costs)]
}

function byRate(load: Load, { rate, server }: StoreCosts, busy: number): readonly Limit[] {
  if (rate === undefined) return []
  const most = busy * rate.value
  const how = `${busy} x the ${countText(rate.value)}/s that were recorded (${originText(rate)})`
  return [{ rate: most, how, beyond: server === 'Redis' ? clusterOf(load.rate / most) : behindPostgres(load) }]
}

function bySpace(load: Load, { bytesEach, server }: StoreCosts): readonly Limit[] {
  if (bytesEach === undefined) return []
  const isRedis = server === 'Redis'
  const [has, share, what] = isRedis ? [load.memoryBytes, 2, 'memory'] : [load.diskBytes, 1.2, 'disk']
  const each = bytesEach.value * share * (1 - load.duplicates) * (load.retentionMs / 1_000)
  const rate = has / each
  const how = `${what}: ${bytesText(has)} / (${share} x ${bytesEach.value} B for each message handled in the retention)`
  const beyond = isRedis ? clusterOf(load.rate / rate) : onKafka(load)
  return [{ rate, how, beyond: [SHORTER, ...beyond, ...(beyond.includes(SEQUENCES) ? [] : [SEQUENCES])] }]
}

function clusterOf(times: number): readonly string[] {
  const primaries = Math.max(3, Math.ceil(times))
  return [`a Redis cluster of ${countText(primaries)} primaries: keys are spread over it (docs/redis.md)`, SEQUENCES]
}

function behindPostgres(load: Load): readonly string[] {
  const batch = COSTS.postgresInbox.handleBatch?.rate
  return [
    ...(load.isBatch || batch === undefined
      ? []
      : [`handleBatch with one statement for a batch: ${countText(batch.value)}/s were recorded (--batch)`]),
    'hash partitions of the inbox (inboxPartitions), where many processes write at once (docs/postgres.md)',
    ...onKafka(load),
    SEQUENCES,
  ]
}

function onKafka({ broker }: Load): readonly string[] {
  return broker === 'kafka' ? [OFFSETS] : []
}
