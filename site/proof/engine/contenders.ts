import type { Promised } from '../../../testing/index.ts'
import type { Chance } from '../../../testing/sim/chance.ts'
import { NO_FAULTS } from '../../../testing/sim/faults.ts'
import type { Instead, Intervention } from '../../../testing/sim/interventions.ts'
import { drawPlan, type Plan } from '../../../testing/sim/plan.ts'
import type { Cast } from '../../../testing/sim/simulation.ts'
import { Worker } from '../../../testing/sim/worker.ts'
import { NaiveStore } from './naive-store.ts'
import { NaiveWorker, type NaiveConsumer } from './naive-worker.ts'

export const CONTENDERS = ['raw', 'ack-first', 'setnx-first', 'lease', 'lease-park', 'inbox'] as const

export type Contender = (typeof CONTENDERS)[number]

/** Handles, then acks: at least once. */
const raw: NaiveConsumer = async ({ handle, ack, nack }) => {
  try {
    await handle()
    ack()
  } catch {
    nack()
  }
}

/** Acks, then handles: at most once. */
const ackFirst: NaiveConsumer = async ({ handle, ack }) => {
  ack()
  await handle().catch(() => {})
}

/** Sets a key, handles, then acks. Removes the key if the handler throws. */
const setnxFirst: NaiveConsumer = async ({ id, store, handle, ack, nack }) => {
  if (!(await store.setnx(id))) return ack()
  try {
    await handle()
    ack()
  } catch {
    await store.del(id)
    nack()
  }
}

/** What the page adds to a seed. */
export interface Scenario {
  /** Without the faults of the seed: only the interventions happen. */
  readonly isQuiet?: boolean
  readonly interventions?: readonly Intervention[]
}

/** Written by hand, a consumer marks nothing. It keeps its promise, if any, by the end of its handler. */
const WITHOUT_MARKS: Instead = { asked: 'started', marked: 'ended' }
/** A query in the transaction is no call of a provider. */
const WITHOUT_CALLS: Instead = { called: 'ended' }

/** The cast of one schedule. The seed draws the same plan for all contenders, and the producer sends the same messages. */
export function castOf(contender: Contender, scenario: Scenario = {}): Cast {
  switch (contender) {
    case 'raw':
      return naive(raw, scenario)
    case 'ack-first':
      return naive(ackFirst, scenario)
    case 'setnx-first':
      return naive(setnxFirst, scenario)
    case 'lease':
      return library('lease, rerun', scenario)
    case 'lease-park':
      return library('lease, park', scenario)
    case 'inbox':
      return library('inbox', scenario, WITHOUT_CALLS)
  }
}

function library(promised: Promised, scenario: Scenario, instead: Instead = {}): Cast {
  return {
    ...sceneOf(promised, scenario),
    newWorker: (process, parts) => new Worker(process, parts),
    instead,
  }
}

function naive(consume: NaiveConsumer, scenario: Scenario): Cast {
  const keys = new Set<string>()
  return {
    ...sceneOf('lease, rerun', scenario),
    newWorker: (process, parts) => new NaiveWorker(process, parts, new NaiveStore(keys, process, parts), consume),
    instead: WITHOUT_MARKS,
  }
}

function sceneOf(promised: Promised, { isQuiet = false, interventions = [] }: Scenario): Omit<Cast, 'newWorker'> {
  return {
    drawPlan: (chance) => ({ ...planOf(promised, chance), ...(isQuiet ? QUIET : {}) }),
    sameMessages: true,
    interventions,
  }
}

/** Faults of the seed that every store can have, and one group of two workers, so that a page can show them. */
function planOf(promised: Promised, chance: Chance): Plan {
  return {
    ...drawPlan(chance, 'inbox'),
    promised,
    handler: 'handle',
    groups: 1,
    workers: 2,
    conflicting: 0,
    unidentified: 0,
    retentionMs: 3_600_000,
  }
}

/** As a calm schedule of the simulator. A dead worker is noticed soon, and attempts are left for what a visitor does. */
const QUIET: Partial<Plan> = {
  isCalm: true,
  rates: NO_FAULTS,
  disturbances: [],
  ignoresAbort: 0,
  resent: 0,
  workMs: 60,
  silenceMs: 150,
  maxAttempts: 5,
}
