import type { ConsumerSpec, SourceSpec, StoreSpec, WorkerSpec } from '../../kit/worker/spec.ts'
import type { Cell } from '../cell.ts'
import { CONSUMER } from '../identity.ts'
import type { BrokerPlace } from '../stage/broker-side.ts'
import type { Stage } from '../stage/stage.ts'
import { TERMS } from '../strategy.ts'
import { IDLE_IN_TRANSACTION_MS, LEASE_MS, MAX_ATTEMPTS, type FaultSettings } from '../settings.ts'

interface Given {
  readonly cell: Cell
  readonly stage: Stage
  readonly place: BrokerPlace
  readonly prefix: string
}

/** Ports of the proxies before its servers. */
interface WorkerProxies {
  readonly toBroker: number
  readonly toStore: number
  readonly toProvider: number
}

const STOP_DEADLINE_MS = 5_000

/** @param isFirst - the first worker, whose clock may be wrong */
export function specOf(
  name: string,
  given: Given,
  { toBroker, toStore, toProvider, isFirst }: WorkerProxies & { readonly isFirst: boolean },
): WorkerSpec<FaultSettings> {
  const { cell, place, prefix } = given
  const {
    strategy,
    tuning: { clockShiftMs = 0, isDropIn = false, planted, stopDeadlineMs = STOP_DEADLINE_MS, leaveAfterMs } = {},
  } = cell
  const source = leavingAfter(leaveAfterMs, place.worker(toBroker))
  return {
    process: name,
    sources: [isDropIn ? asDropIn(source) : source],
    store: storeOf(name, given, toStore),
    consumer: consumerOf(given),
    settings: {
      provider: { port: toProvider, log: prefix },
      isKeyed: strategy === 'lease-keyed',
      clockShiftMs: isFirst ? clockShiftMs : 0,
      ...(planted && { planted }),
    },
    stopDeadlineMs,
  }
}

function leavingAfter(leaveAfterMs: number | undefined, source: SourceSpec): SourceSpec {
  if (leaveAfterMs === undefined) return source
  switch (source.kind) {
    case 'kafka':
      return { ...source, options: { ...source.options, leaveAfterMs } }
    case 'rabbitmq':
      return { ...source, options: { ...source.options, leaveAfterMs } }
  }
}

function asDropIn(source: SourceSpec): SourceSpec {
  switch (source.kind) {
    case 'kafka':
      return { ...source, dropIn: 'eachBatch' }
    case 'rabbitmq':
      return { ...source, dropIn: 'onMessage' }
  }
}

function consumerOf({ cell: { strategy, tuning = {} } }: Given): ConsumerSpec {
  const { retentionMs, concurrency = 8, batchSize, transactions, resendsDiffer = false } = tuning
  const { store } = TERMS[strategy]
  const isInbox = store === 'inbox'
  const isLease = store === 'lease on redis' || store === 'lease on postgres'
  return {
    name: CONSUMER,
    leaseMs: tuning.leaseMs ?? LEASE_MS,
    handlerTimeoutMs: tuning.handlerTimeoutMs ?? 10_000,
    graceMs: tuning.graceMs ?? 500,
    maxAttempts: tuning.maxAttempts ?? MAX_ATTEMPTS,
    backoff: { initialMs: 20, maxMs: 100 },
    ...(retentionMs !== undefined && { retentionMs }),
    ...(isInbox && batchSize !== undefined && { batchSize }),
    ...(isInbox && transactions !== undefined && { transactions }),
    ...(isLease && { concurrency, onInDoubt: strategy === 'lease-park' ? ('park' as const) : ('rerun' as const) }),
    ...(resendsDiffer && (isInbox || isLease) && { onConflict: 'duplicate' as const }),
  }
}

function storeOf(name: string, { cell, stage, prefix }: Given, port: number): StoreSpec {
  const { store, durability = 'memory' } = TERMS[cell.strategy]
  const onPostgres = {
    on: 'postgres',
    url: through(stage.postgres.url, port),
    schema: stage.postgres.schema,
    connections: 4,
    applicationName: `${prefix} ${name}`,
  } as const
  switch (store) {
    case 'lease on redis':
      return {
        on: 'redis',
        strategy: 'lease',
        url: through(stage.redis.url, port),
        client: { maxRetriesPerRequest: null },
        options: { prefix, durability, ...(durability === 'memory' ? { queryTimeoutMs: 1_000 } : {}) },
      }
    case 'lease on postgres':
      return { ...onPostgres, strategy: 'lease', options: { setup: 'check', lockTimeoutMs: 300, queryTimeoutMs: 600 } }
    case 'inbox':
    case 'offsets':
      return {
        ...onPostgres,
        strategy: store,
        options: {
          setup: 'check',
          lockTimeoutMs: 500,
          queryTimeoutMs: 1_500,
          idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_MS,
        },
      }
  }
}

function through(url: string, port: number): string {
  return Object.assign(new URL(url), { port: String(port) }).href
}
