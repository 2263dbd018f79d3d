import { payloadOf, USUAL, type Shape } from '../messages.ts'
import { seeded } from '../seeded.ts'

interface ChaosMessage {
  readonly id: string
  readonly key: string
  readonly body: string
  readonly isPoison: boolean
}

const KEYS = 400
export const SHAPE: Shape = { padding: 'x'.repeat(800), poison: 1 / 500, ...USUAL }

/** The message of a number, always the same for a seed. */
export function messageOf(seed: number, number: number, shape: Shape): ChaosMessage {
  const payload = payloadOf(seeded(seed, `message ${number}`), number, shape)
  const isPoison = payload.fails === 'always'
  return { id: payload.id, key: `k-${number % KEYS}`, body: JSON.stringify(payload), isPoison }
}
