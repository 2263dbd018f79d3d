import type { Anomaly } from '../../../testing/checker/anomaly.ts'
import type { Cell } from '../cell.ts'
import type { Planted } from '../settings.ts'
import { CELLS } from './all.ts'

/** A cell with a bug planted in its workers and a slow handler, and the anomalies that the checker must find. */
export interface PlantedCell {
  readonly cell: Cell
  readonly finds: readonly Anomaly[]
}

/** A matrix that misses these proves nothing. */
export const PLANTED: readonly PlantedCell[] = [
  planted('ack-before-mark', 'F1.S4.inbox.rabbitmq', ['A1 lost', 'A3 settle before mark']),
  planted('ack-before-mark', 'F1.S4.lease-rerun.rabbitmq', ['A3 settle before mark']),
  planted('mark-skipped', 'F1.S7.lease-rerun.rabbitmq', ['A3 settle before mark']),
  planted('commit-highest', 'F1.S3.inbox.kafka', ['A1 lost', 'A3 settle before mark']),
  planted('reads-uncommitted', 'F24.S3-killed.inbox.kafka', ['A12 phantom']),
]

function planted(what: Planted, name: string, finds: readonly Anomaly[]): PlantedCell {
  const cell = CELLS.find((one) => one.name === name)
  if (cell === undefined) throw new TypeError(`no cell ${name}`)
  return {
    cell: { ...cell, name: `${name}+${what}`, message: 'linger', tuning: { ...cell.tuning, planted: what } },
    finds,
  }
}
