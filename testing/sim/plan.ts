import type { Promised } from '../checker/anomaly.ts'
import type { Chance } from './chance.ts'
import { drawRates, NO_FAULTS, type Disturbance, type FaultRates } from './faults.ts'

/** Everything that the seed decides before the start. */
export interface Plan {
  readonly promised: Promised
  /** No fault happens, and no handler takes long. */
  readonly isCalm: boolean
  readonly broker: 'log' | 'queue'
  readonly handler: 'handle' | 'handleBatch'
  /** Consumer groups of the same messages on the one store. */
  readonly groups: 1 | 2
  readonly workers: number
  readonly partitions: number
  /** The most unacked messages of a channel. */
  readonly prefetch: number
  /** The broker removes a consumer that was silent for this long. */
  readonly silenceMs: number
  readonly hasRetryPlaces: boolean
  readonly messages: number
  /** Shares of messages: sent again by the producer; with another payload; without an ID; with an ordering key. */
  readonly resent: number
  readonly resentWithinMs: number
  readonly conflicting: number
  readonly unidentified: number
  readonly ordered: number
  readonly concurrency: number
  readonly batchSize: number
  /** The longest time of a handler. */
  readonly workMs: number
  readonly leaseMs: number
  readonly retentionMs: number
  readonly maxAttempts: number
  /** Share of handlers that ignore their signal. */
  readonly ignoresAbort: number
  readonly rates: FaultRates
  readonly disturbances: readonly { readonly atMs: number; readonly kind: Disturbance }[]
  readonly faultsForMs: number
  /** The longest pause at a step. */
  readonly pausedForMs: number
}

export const PROMISES: readonly Promised[] = ['lease, rerun', 'lease, park', 'lease, keyed', 'inbox', 'offsets']

const DISTURBANCES: readonly Disturbance[] = [
  'pause',
  'kill',
  'start',
  'stop',
  'redeliver',
  'redeliver',
  'disconnect',
  'disconnect',
  'disconnect',
  'clock-jump',
  'clock-jump',
  'store-loss',
  'store-down',
]

export const LONGEST_RESEND_MS = 600

/** Longer than an attempt with its delay, which is the allowed minimum. */
const SHORT_RETENTION_MS = 3_000
const LONG_RETENTION_MS = 3_600_000

export function drawPlan(chance: Chance, promised: Promised = chance.pick(PROMISES)): Plan {
  const plan = drawUsual(chance, promised)
  const isContended = !plan.isCalm && plan.promised !== 'offsets' && chance.happens(0.55)
  return isContended ? { ...plan, ...drawContention(chance, plan) } : plan
}

/**
 * Several workers that hold the same message, with leases that end while its handler is paused. It tests late owners,
 * who are rare among other faults.
 */
function drawContention(chance: Chance, { rates }: Plan): Partial<Plan> {
  return {
    broker: 'queue',
    handler: 'handle',
    workers: 2,
    maxAttempts: chance.between(1, 2),
    prefetch: chance.between(2, 5),
    silenceMs: 2_500,
    pausedForMs: 1_500,
    concurrency: chance.between(1, 2),
    messages: chance.between(1, 2),
    resent: 1,
    resentWithinMs: 30,
    hasRetryPlaces: false,
    workMs: 400,
    leaseMs: 100,
    rates: { ...rates, pause: 0, lateEnd: 0.4, crash: 0, requestLost: 0, handlerFails: chance.pick([0, 0, 0.4]) },
  }
}

function drawUsual(chance: Chance, promised: Promised): Plan {
  const plan = drawAny(chance, promised)
  // All messages of a batch share the time of one handler; without faults that is enough.
  return plan.isCalm && plan.handler === 'handleBatch' ? { ...plan, workMs: plan.workMs / 5 } : plan
}

function drawAny(chance: Chance, promised: Promised): Plan {
  const isCalm = chance.happens(0.05)
  const faultsForMs = chance.between(300, 2_000)
  // A run has a few of the kinds at a high rate, rather than all of them at a low one.
  const kinds = DISTURBANCES.filter((kind) => chance.happens(0.4) && isPossible(kind, promised))
  const count = isCalm || kinds.length === 0 ? 0 : chance.between(0, 8)
  return {
    promised,
    isCalm,
    broker: promised === 'offsets' || chance.happens(0.5) ? 'log' : 'queue',
    handler: chance.happens(0.75) ? 'handle' : 'handleBatch',
    groups: chance.happens(0.2) ? 2 : 1,
    workers: chance.pick([1, 2, 3]),
    partitions: chance.between(1, 2),
    prefetch: chance.between(1, 5),
    silenceMs: chance.pick([150, 150, 700]),
    hasRetryPlaces: chance.happens(0.3),
    messages: chance.between(2, 7),
    resentWithinMs: chance.pick([60, LONGEST_RESEND_MS]),
    resent: chance.happens(0.5) ? 0.5 : 0,
    conflicting: chance.happens(0.2) ? 0.2 : 0,
    unidentified: chance.happens(0.1) ? 0.2 : 0,
    ordered: chance.happens(0.6) ? 0.7 : 0,
    concurrency: chance.between(1, 4),
    batchSize: chance.between(1, 4),
    workMs: chance.pick(isCalm ? [4, 60, 200] : [4, 60, 400]),
    leaseMs: chance.between(100, 400),
    retentionMs: chance.happens(0.05) ? SHORT_RETENTION_MS : LONG_RETENTION_MS,
    maxAttempts: chance.between(2, 4),
    ignoresAbort: chance.happens(0.3) ? 0.5 : 0,
    rates: isCalm ? NO_FAULTS : drawRates(chance),
    disturbances: Array.from({ length: count }, () => ({ atMs: chance.below(faultsForMs), kind: chance.pick(kinds) })),
    faultsForMs,
    pausedForMs: 900,
  }
}

/**
 * So many final failures in a row hold the consumer, in a part of the schedules: a handful of messages would never reach the
 * usual number. Not drawn at random, so that every seed keeps its schedule.
 */
export function holdAfterOf({ messages }: Pick<Plan, 'messages'>): number | undefined {
  return messages % 3 === 0 ? messages / 3 : undefined
}

/** If rows of an inbox are removed, effects happen twice, as documented. */
function isPossible(kind: Disturbance, promised: Promised): boolean {
  return kind !== 'store-loss' || (promised !== 'inbox' && promised !== 'offsets')
}
