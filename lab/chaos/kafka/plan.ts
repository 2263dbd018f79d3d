import { LASTING_WORKER, spread, times, WORKERS, type Planned, type RunOptions, type WorkerFault } from '../plan.ts'
import { between, seeded, type Random } from '../seeded.ts'

export interface KafkaOptions extends RunOptions {
  readonly broker: 'kafka'
  /** Partitions moved away from their leader and back. All other faults follow from it in number. */
  readonly moves: number
  /** Of the workers. @defaultValue kafkajs */
  readonly client?: ChaosClient
}

export type ChaosClient = (typeof CHAOS_CLIENTS)[number]
/** The last one with the group protocol of KIP-848. */
export const CHAOS_CLIENTS = ['kafkajs', 'platformatic', 'platformatic-kip848'] as const

export const PLANTED: readonly string[] = ['skip', 'double', 'commit-high', 'commit-low']

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

/** The leader of a partition dies while its only other replica, which then leads, lacks what was written last. */
export interface UncleanElection extends Planned {
  readonly kind: 'unclean-election'
  readonly partition: number
}

/** Lanes of faults: in turn within a lane, and beside each other across lanes. */
export interface Plan {
  readonly moves: readonly Move[]
  readonly brokers: readonly (BrokerFault | UncleanElection)[]
  readonly workers: readonly (readonly WorkerFault[])[]
}

export const PARTITIONS = 12
export const BROKERS = 3
/** Of the topic with unclean elections. */
export const UNCLEAN_PARTITIONS = 3

/** Beside one move. */
const RATES = {
  'coordinator-move': 0.05,
  'broker-kill': 0.075,
  'broker-freeze': 0.075,
  'unclean-election': 0.05,
  'worker-kill': 0.25,
  'worker-freeze': 0.15,
  'worker-stop': 0.15,
} as const

export function planOf({ moves, seed, soak }: Pick<KafkaOptions, 'moves' | 'seed' | 'soak'>): Plan {
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
      ...(soak === undefined ? times(many('unclean-election'), 'unclean-election' as const) : []),
    ]).map(({ kind, at, draw }) => {
      if (kind === 'unclean-election') return { kind, at, partition: between(draw, 0, UNCLEAN_PARTITIONS - 1) }
      const broker = between(draw, 0, BROKERS - 1)
      return {
        kind,
        at,
        broker,
        forMs: kind === 'broker-kill' ? between(draw, 0, 5_000) : between(draw, 3_000, 10_000),
      }
    }),
    workers: dealt(
      random('workers'),
      spread(random('worker faults'), [
        ...times(many('worker-kill'), 'worker-kill' as const),
        ...times(many('worker-freeze'), 'worker-freeze' as const),
        ...times(many('worker-stop'), 'worker-stop' as const),
      ]).map(({ kind, at, draw }) => ({
        kind,
        at,
        // Always longer than the session and the lease of a worker (settings.ts).
        forMs: kind === 'worker-freeze' ? between(draw, 8_000, 14_000) : between(draw, 0, 2_000),
      })),
      soak === undefined ? WORKERS : LASTING_WORKER,
    ),
  }
}

/** Only the first `mortal` workers end. */
function dealt(random: Random, faults: readonly WorkerFault[], mortal: number): readonly (readonly WorkerFault[])[] {
  const lanes = Array.from({ length: WORKERS }, (): WorkerFault[] => [])
  for (const fault of faults) {
    const among = fault.kind === 'worker-freeze' ? WORKERS : mortal
    lanes[between(random, 0, among - 1)]?.push(fault)
  }
  return lanes
}
