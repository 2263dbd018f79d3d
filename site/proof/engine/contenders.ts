import type { Promised } from '../../../testing/index.ts'
import type { Chance } from '../../../testing/sim/chance.ts'
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

/** The cast of one schedule. The seed draws the same plan for all contenders. */
export function castOf(contender: Contender): Cast {
  switch (contender) {
    case 'raw':
      return naive(raw)
    case 'ack-first':
      return naive(ackFirst)
    case 'setnx-first':
      return naive(setnxFirst)
    case 'lease':
      return library('lease, rerun')
    case 'lease-park':
      return library('lease, park')
    case 'inbox':
      return library('inbox')
  }
}

function library(promised: Promised): Cast {
  return { drawPlan: sceneOf(promised), newWorker: (process, parts) => new Worker(process, parts) }
}

function naive(consume: NaiveConsumer): Cast {
  const keys = new Set<string>()
  return {
    drawPlan: sceneOf('lease, rerun'),
    newWorker: (process, parts) => new NaiveWorker(process, parts, new NaiveStore(keys, process, parts.stage), consume),
  }
}

/** Faults of the seed that every store can have, and one group of two workers, so that a page can show them. */
function sceneOf(promised: Promised): (chance: Chance) => Plan {
  return (chance) => ({
    ...drawPlan(chance, 'inbox'),
    promised,
    handler: 'handle',
    groups: 1,
    workers: 2,
    conflicting: 0,
    unidentified: 0,
    retentionMs: 3_600_000,
  })
}
