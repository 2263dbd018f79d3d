import { PARTITIONS } from './plan.ts'
import { between, seeded } from './seeded.ts'

/** What a worker reads. Two messages of one ID are equal to the byte. */
export interface Payload {
  readonly id: string
  readonly workMs: number
  /** The first attempt fails, before the effect. */
  readonly failsOnce: boolean
  readonly padding: string
}

export interface ChaosMessage {
  readonly id: string
  readonly key: string
  readonly partition: number
  readonly value: string
}

const KEYS_PER_PARTITION = 40
/** Partitions must have some size: a replica that was dropped and added again must take a while to catch up. */
const PADDING = 'x'.repeat(3_000)

/** The message of a number, always the same for a seed. */
export function messageOf(seed: number, number: number): ChaosMessage {
  const random = seeded(seed, `message ${number}`)
  const id = `m-${number}`
  const partition = number % PARTITIONS
  const payload: Payload = {
    id,
    workMs: random() < 1 / 50 ? between(random, 200, 800) : between(random, 0, 4),
    failsOnce: random() < 1 / 1_000,
    padding: PADDING,
  }
  const key = `k-${partition}-${Math.floor(number / PARTITIONS) % KEYS_PER_PARTITION}`
  return { id, key, partition, value: JSON.stringify(payload) }
}
