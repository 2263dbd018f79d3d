import type { EpochMs } from './units.ts'

/**
 * The last message of a log that is over. It lies with the position that the next member of a group begins at, and
 * distinguishes this log from another one of the same name: one that was cut off and has grown again, or was created
 * anew.
 */
export interface Landmark {
  readonly offset: bigint
  /** The broker's timestamp of the message. `undefined`: it has none. */
  readonly timestamp?: EpochMs | undefined
  /** Grows with every election of a leader: the number of the one that wrote the message. `undefined`: not known. */
  readonly leaderEpoch?: number | undefined
}

/** Whether a log still has its landmark. `unknown`: its place is empty, or nothing of it can be compared. */
export type Likeness = 'same' | 'another' | 'unknown'

/** Compares the landmark with the message that a log has now, which may lie at another offset. */
export function compareLandmark(landmark: Landmark, found: Landmark | undefined): Likeness {
  if (found === undefined || found.offset !== landmark.offset) return 'unknown'
  const pairs = [
    [landmark.timestamp, found.timestamp],
    [landmark.leaderEpoch, found.leaderEpoch],
  ].filter((pair) => pair.every((value) => value !== undefined))
  if (pairs.some(([then, now]) => then !== now)) return 'another' // mutant: kafka-landmark-any
  return pairs.length === 0 ? 'unknown' : 'same'
}

/** Names the format. A later version that means something else must have another name. */
const FORMAT = 'consume-once/1'

/**
 * The text of a landmark, for the metadata of a committed offset. It names that offset too, so that it counts for
 * nothing where a tool has moved the offset and kept the metadata. At most 100 characters.
 */
export function landmarkText({ offset, timestamp, leaderEpoch }: Landmark, committed: bigint): string {
  const time = timestamp === undefined ? '' : ` timestamp=${timestamp}`
  const epoch = leaderEpoch === undefined ? '' : ` epoch=${leaderEpoch}`
  return `${FORMAT} next=${committed} last=${offset}${time}${epoch}`
}

/**
 * Reads the metadata of a committed offset. `undefined`: it has no landmark for this offset, because another client or
 * a tool has committed it.
 */
export function landmarkIn(metadata: string | null | undefined, committed: bigint): Landmark | undefined {
  const [format, ...words] = (metadata ?? '').split(' ')
  if (format !== FORMAT) return undefined
  const fields = new Map(words.map((word) => [word.split('=')[0], wholeIn(word)]))
  const offset = fields.get('last')
  if (offset === undefined || offset >= committed || fields.get('next') !== committed) return undefined
  return { offset, timestamp: numberOf(fields.get('timestamp')), leaderEpoch: numberOf(fields.get('epoch')) }
}

function wholeIn(word: string): bigint | undefined {
  const digits = /^[a-z]+=(\d{1,19})$/.exec(word)?.[1]
  return digits === undefined ? undefined : BigInt(digits)
}

function numberOf(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}
