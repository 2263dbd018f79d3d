import type { BrokerName, StoreName } from './costs.ts'

export interface Load {
  /** Deliveries a second, duplicates included. */
  readonly rate: number
  /** Part of the deliveries that repeat a message, from 0 to less than 1. */
  readonly duplicates: number
  readonly retentionMs: number
  readonly payloadBytes: number
  /** Of one message; with `isBatch` of one call for a whole batch. */
  readonly handlerMs: number
  readonly store: StoreName
  readonly broker: BrokerName
  readonly isBatch: boolean
  /** What one Redis has. */
  readonly memoryBytes: number
  /** What one database has. */
  readonly diskBytes: number
}
