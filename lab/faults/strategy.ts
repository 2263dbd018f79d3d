import type { Promised } from '../../testing/checker/anomaly.ts'

/**
 * `lease-keyed`: the provider knows idempotency keys, and each call carries `ctx.idempotencyKey`. `lease-postgres` and
 * `lease-replicas` rerun messages in doubt; they keep leases in Postgres, and in a Redis whose marks wait for a replica.
 */
export type Strategy =
  | 'inbox'
  | 'lease-rerun'
  | 'lease-keyed'
  | 'lease-park'
  | 'lease-postgres'
  | 'lease-replicas'
  | 'offsets'

export const STRATEGIES: readonly Strategy[] = [
  'inbox',
  'lease-rerun',
  'lease-keyed',
  'lease-park',
  'lease-postgres',
  'lease-replicas',
  'offsets',
]
export type StoreName = 'inbox' | 'offsets' | 'lease on postgres' | 'lease on redis'

interface Terms {
  readonly store: StoreName
  /** The promise that the checker holds it to. */
  readonly promised: Promised
  /** What a mark in Redis waits for. @defaultValue 'memory' */
  readonly durability?: 'replicas'
}

export const TERMS: Readonly<Record<Strategy, Terms>> = {
  inbox: { store: 'inbox', promised: 'inbox' },
  'lease-rerun': { store: 'lease on redis', promised: 'lease, rerun' },
  'lease-keyed': { store: 'lease on redis', promised: 'lease, keyed' },
  'lease-park': { store: 'lease on redis', promised: 'lease, park' },
  'lease-postgres': { store: 'lease on postgres', promised: 'lease, rerun' },
  'lease-replicas': { store: 'lease on redis', promised: 'lease, rerun', durability: 'replicas' },
  offsets: { store: 'offsets', promised: 'offsets' },
}
