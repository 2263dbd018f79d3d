import { LASTING_WORKER, spread, times, WORKERS, type Planned, type RunOptions, type WorkerFault } from '../plan.ts'
import { between, seeded, type Random } from '../seeded.ts'

export interface RabbitOptions extends RunOptions {
  readonly broker: 'rabbitmq'
}

export const PLANTED: readonly string[] = ['skip', 'double', 'early-ack', 'stale-tag']

export type BrokerFault =
  | (Planned & { readonly kind: 'connections-cut' })
  /** Shut down in order, or killed and down for a while. */
  | (Planned & { readonly kind: 'broker-restart'; readonly how: 'stop' | 'kill'; readonly downMs: number })

/** Lanes of faults: in turn within a lane, and beside each other across lanes. */
export interface Plan {
  readonly broker: readonly BrokerFault[]
  readonly workers: readonly (readonly WorkerFault[])[]
}

/** For each worker: one fault, and one more for this many messages. */
const MESSAGES_PER = {
  'worker-kill': 10_000,
  'worker-stop': 20_000,
  'long-freeze': 20_000,
  'short-freeze': 20_000,
} as const

/** In a soak messages come faster than anyone can be frozen and killed: faults go by its time. */
const MESSAGES_OF_A_SOAK_MINUTE = 6_000
const BROKER_FAULTS_PER_MINUTES = 5

export function planOf({ messages, seed, soak }: Pick<RabbitOptions, 'messages' | 'seed' | 'soak'>): Plan {
  const many = soak === undefined ? messages : Math.min(messages, soak.minutes * MESSAGES_OF_A_SOAK_MINUTE)
  const rounds = soak === undefined ? 1 : Math.ceil(soak.minutes / BROKER_FAULTS_PER_MINUTES)
  return {
    broker: brokerFaults(seeded(seed, 'broker'), rounds),
    workers: Array.from({ length: WORKERS }, (_, index) => {
      const faults = workerFaults(seeded(seed, `worker ${index}`), many)
      const isLasting = soak !== undefined && index === LASTING_WORKER
      return isLasting ? faults.filter(({ kind }) => kind === 'worker-freeze') : faults
    }),
  }
}

function brokerFaults(random: Random, rounds: number): readonly BrokerFault[] {
  const kinds = [...times(2 * rounds, 'connections-cut' as const), ...times(rounds, 'broker-restart' as const)]
  return spread(random, kinds).map(({ kind, at, draw }): BrokerFault => {
    if (kind === 'connections-cut') return { kind, at }
    return { kind, at, how: draw() < 0.5 ? 'stop' : 'kill', downMs: between(draw, 0, 3_000) }
  })
}

function workerFaults(random: Random, messages: number): readonly WorkerFault[] {
  const many = <Kind extends keyof typeof MESSAGES_PER>(kind: Kind): readonly Kind[] =>
    times(1 + Math.floor(messages / MESSAGES_PER[kind]), kind)
  const kinds = [...many('worker-kill'), ...many('worker-stop'), ...many('long-freeze'), ...many('short-freeze')]
  return spread(random, kinds).map(({ kind, at, draw }): WorkerFault => {
    switch (kind) {
      case 'worker-kill':
      case 'worker-stop':
        return { kind, at, forMs: between(draw, 0, 2_000) }
      case 'long-freeze':
        // Longer than the lease, and than the broker waits for a heartbeat (settings.ts).
        return { kind: 'worker-freeze', at, forMs: between(draw, 8_000, 13_000) }
      case 'short-freeze':
        return { kind: 'worker-freeze', at, forMs: between(draw, 300, 3_000) }
    }
  })
}
