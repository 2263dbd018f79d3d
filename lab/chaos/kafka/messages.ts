import { payloadOf, USUAL, type Shape } from '../messages.ts'
import { seeded } from '../seeded.ts'
import { PARTITIONS } from './plan.ts'

interface ChaosMessage {
  readonly id: string
  readonly key: string
  readonly value: string
}

const KEYS_PER_PARTITION = 40
/** Partitions must have some size: a replica that was dropped and added again must take a while to catch up. */
export const SHAPE: Shape = { padding: 'x'.repeat(3_000), poison: 0, ...USUAL }

/** The message of a number, always the same for a seed. It belongs to the partition `number % PARTITIONS`. */
export function messageOf(seed: number, number: number, shape: Shape): ChaosMessage {
  const payload = payloadOf(seeded(seed, `message ${number}`), number, shape)
  const key = `k-${number % PARTITIONS}-${Math.floor(number / PARTITIONS) % KEYS_PER_PARTITION}`
  return { id: payload.id, key, value: JSON.stringify(payload) }
}
