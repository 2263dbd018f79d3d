import { between, seeded, shuffled, type Random } from './seeded.ts'

export type StoreName = 'postgres' | 'redis'

/** What the command line says. */
export interface ChaosOptions {
  /** Distinct IDs. About 5% of them are sent twice. */
  readonly messages: number
  /** Partitions moved away from their leader and back. All other faults follow from it in number. */
  readonly moves: number
  readonly store: StoreName
  /** Of all that is decided by chance. Not of the time it takes: no two runs are alike. */
  readonly seed: number
  /** When a run that has not come to an end has failed. */
  readonly minutes: number
  /** Something the checks must find. */
  readonly planted?: Planted
}

export const PLANTED = ['skip', 'double', 'commit-high', 'commit-low'] as const
export type Planted = (typeof PLANTED)[number]

/** A fault happens once a share `at`, from 0 to 1, of the messages has been handled, so that there is always work in flight. */
interface Planned {
  readonly at: number
}

export interface Move extends Planned {
  readonly kind: 'partition-move' | 'coordinator-move'
  readonly partition: number
  /** Between away and back. Short: the old leader comes back as a replica before consumers noticed that it was none. */
  readonly awayMs: number
}

export interface BrokerFault extends Planned {
  readonly kind: 'broker-kill' | 'broker-freeze'
  readonly broker: number
  readonly forMs: number
}

export interface WorkerFault extends Planned {
  readonly kind: 'worker-kill' | 'worker-freeze' | 'worker-stop'
  /** How long it is frozen, or away before it is started again. */
  readonly forMs: number
}

/** Lanes of faults: in turn within a lane, and beside each other across lanes. */
export interface Plan {
  readonly moves: readonly Move[]
  readonly brokers: readonly BrokerFault[]
  readonly workers: readonly (readonly WorkerFault[])[]
}

export const PARTITIONS = 12
export const BROKERS = 3
export const WORKERS = 3

/** After this share of the messages nothing is harmed any more. */
const LAST_FAULT_AT = 0.95
/** Beside one move. */
const RATES = {
  'coordinator-move': 0.05,
  'broker-kill': 0.075,
  'broker-freeze': 0.075,
  'worker-kill': 0.25,
  'worker-freeze': 0.15,
  'worker-stop': 0.15,
} as const

export function planOf({ moves, seed }: Pick<ChaosOptions, 'moves' | 'seed'>): Plan {
  const random = (stream: string): Random => seeded(seed, stream)
  const many = (kind: keyof typeof RATES): number => Math.ceil(moves * RATES[kind])
  return {
    moves: spread(random('moves'), [
      ...times(moves, 'partition-move' as const),
      ...times(many('coordinator-move'), 'coordinator-move' as const),
    ]).map(({ kind, at, draw }) => ({
      kind,
      at,
      partition: between(draw, 0, PARTITIONS - 1),
      awayMs: draw() < 0.5 ? between(draw, 0, 150) : between(draw, 150, 2_000),
    })),
    brokers: spread(random('brokers'), [
      ...times(many('broker-kill'), 'broker-kill' as const),
      ...times(many('broker-freeze'), 'broker-freeze' as const),
    ]).map(({ kind, at, draw }) => ({
      kind,
      at,
      broker: between(draw, 0, BROKERS - 1),
      forMs: kind === 'broker-kill' ? between(draw, 0, 5_000) : between(draw, 3_000, 10_000),
    })),
    workers: dealt(
      random('workers'),
      spread(random('worker faults'), [
        ...times(many('worker-kill'), 'worker-kill' as const),
        ...times(many('worker-freeze'), 'worker-freeze' as const),
        ...times(many('worker-stop'), 'worker-stop' as const),
      ]).map(({ kind, at, draw }) => ({
        kind,
        at,
        // Always longer than the session and the lease of a worker (worker-settings.ts).
        forMs: kind === 'worker-freeze' ? between(draw, 8_000, 14_000) : between(draw, 0, 2_000),
      })),
    ),
  }
}

interface Slot<Kind> extends Planned {
  readonly kind: Kind
  readonly draw: Random
}

/** In random order, evenly over the run but not quite. */
function spread<Kind>(random: Random, kinds: readonly Kind[]): readonly Slot<Kind>[] {
  return shuffled(random, kinds).map((kind, index) => {
    const at = ((index + random()) / kinds.length) * LAST_FAULT_AT
    return { kind, at, draw: random }
  })
}

function dealt(random: Random, faults: readonly WorkerFault[]): readonly (readonly WorkerFault[])[] {
  const lanes = Array.from({ length: WORKERS }, (): WorkerFault[] => [])
  for (const fault of faults) lanes[between(random, 0, WORKERS - 1)]?.push(fault)
  return lanes
}

function times<Kind>(count: number, kind: Kind): readonly Kind[] {
  return Array.from({ length: count }, () => kind)
}
