import { shuffled, type Random } from './seeded.ts'

export type StoreName = 'postgres' | 'redis'
export const STORES: readonly StoreName[] = ['postgres', 'redis']

/** Command line options of every run. */
export interface RunOptions {
  readonly broker: 'kafka' | 'rabbitmq'
  /** Distinct IDs. About 5% of them are sent twice. */
  readonly messages: number
  readonly store: StoreName
  /** Seed of every random choice. Timing is not seeded: no two runs are alike. */
  readonly seed: number
  /** When a run that has not come to an end has failed. */
  readonly minutes: number
  /** Something the checks must find. */
  readonly planted?: string
  /** Only of a soak. */
  readonly soak?: Soak
}

/** A long run at a steady pace, in which nothing may grow (lab/soak). */
export interface Soak {
  /** The messages, and with them the faults, are spread over these. */
  readonly minutes: number
  /** Retention of records: far shorter than the run, so their number must level off. */
  readonly retentionMs: number
}

/** A fault happens once a share `at`, from 0 to 1, of the messages has been handled, so that there is always work in flight. */
export interface Planned {
  readonly at: number
}

export interface WorkerFault extends Planned {
  readonly kind: 'worker-kill' | 'worker-freeze' | 'worker-stop'
  /** How long it is frozen, or away before it is started again. */
  readonly forMs: number
}

export const WORKERS = 3

/** The last worker of a soak is frozen like the others, but neither killed nor stopped: its heap is seen all the way. */
export const LASTING_WORKER: number = WORKERS - 1

/** After this share of the messages every fault has healed. */
const LAST_FAULT_AT = 0.95

interface Slot<Kind> extends Planned {
  readonly kind: Kind
  readonly draw: Random
}

/** In random order, evenly over the run but not quite. */
export function spread<Kind>(random: Random, kinds: readonly Kind[]): readonly Slot<Kind>[] {
  return shuffled(random, kinds).map((kind, index) => {
    const at = ((index + random()) / kinds.length) * LAST_FAULT_AT
    return { kind, at, draw: random }
  })
}

export function times<Kind>(count: number, kind: Kind): readonly Kind[] {
  return Array.from({ length: count }, () => kind)
}
