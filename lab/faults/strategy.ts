import type { Promised } from '../../testing/checker/anomaly.ts'
import type { Strategy } from './cell.ts'

export type StoreName = 'inbox' | 'offsets' | 'lease on postgres' | 'lease on redis'

interface Terms {
  readonly store: StoreName
  /** By what it is judged. */
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
