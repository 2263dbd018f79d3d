import type { Anomaly, Promised } from './anomaly.ts'

/** The rules by which a history is judged. */
export interface Rules {
  readonly promised: Promised
  /** A run without faults admits no anomaly. */
  readonly hadFaults: boolean
  /** Attempts after which a message is given up. */
  readonly maxAttempts: number
  /** More deliveries of one message than this are a storm. */
  readonly mostDeliveries: number
  /**
   * Anomalies that this run admits in addition to its promise, such as a duplicate after a mark was removed from the
   * store.
   */
  readonly admitted?: readonly Anomaly[]
}
