import { oneOf, or, whole, type Table } from '../foundation/options.ts'

/** Options of stores that keep a mark for each source instead of a record for each message. */
export interface SequenceOptions {
  /**
   * The newest numbers of each source whose records are kept for the whole retention, with payload digest and result: 0
   * to 10000. A sender that counts from the start again, or a second sender with the same name, meets them as
   * conflicts.
   * @defaultValue 100
   */
  readonly tail?: number
  /**
   * What happens to a message whose number is done and has no record, so that its payload cannot be compared. It is a
   * late redelivery, or a sender has begun to count again.
   * - `park`: a person decides, with the reason `behind-sequence`.
   * - `duplicate`: it is settled. Take it only if no sender ever uses a number again, as with an epoch in the source.
   *
   * @defaultValue 'park'
   */
  readonly onBehind?: 'park' | 'duplicate'
  /**
   * The most gaps that are remembered of a source, 1 to 10000. Beyond it the lowest gap is forgotten, with all numbers
   * below: a message with such a number and without a record is parked, whatever `onBehind` says.
   * @defaultValue 1000
   */
  readonly maxGaps?: number
}

/** Stores take them beside their own. */
export const SEQUENCES: Table<SequenceOptions> = {
  tail: or(100, whole({ least: 0, most: 10_000 })),
  onBehind: or('park', oneOf('park', 'duplicate')),
  maxGaps: or(1_000, whole({ most: 10_000 })),
}
