import { payloadOf } from '../messages.ts'
import { seeded } from '../seeded.ts'
import { PARTITIONS } from './plan.ts'

interface ChaosMessage {
  readonly id: string
  readonly key: string
  readonly value: string
}

const KEYS_PER_PARTITION = 40
/** Partitions must have some size: a replica that was dropped and added again must take a while to catch up. */
const SHAPE = { padding: 'x'.repeat(3_000), poison: 0 }

/** The message of a number, always the same for a seed. It belongs to the partition `number % PARTITIONS`. */
export function messageOf(seed: number, number: number): ChaosMessage {
  const payload = payloadOf(seeded(seed, `message ${number}`), number, SHAPE)
  const key = `k-${number % PARTITIONS}-${Math.floor(number / PARTITIONS) % KEYS_PER_PARTITION}`
  return { id: payload.id, key, value: JSON.stringify(payload) }
}
