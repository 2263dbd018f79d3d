import { between, type Random } from './seeded.ts'

/** Payload of a message. Two messages with one ID are equal byte for byte. */
export interface Payload {
  readonly id: string
  readonly workMs: number
  /** `once`: the first attempt. Before the effect. */
  readonly fails: 'never' | 'once' | 'always'
  readonly padding: string
}

/** Poison and the like are shares of the messages. */
export interface Shape {
  /** Filler that no one reads. */
  readonly padding: string
  /** No attempt helps. */
  readonly poison: number
  readonly failsOnce: number
  readonly slow: number
}

export const USUAL: Pick<Shape, 'failsOnce' | 'slow'> = { failsOnce: 1 / 1_000, slow: 1 / 50 }

/** A soak sends many messages in little time, so few may be large, slow or fail: with `handleBatch` a failure makes each message of its batch run alone. */
export const OF_A_SOAK: Shape = { padding: 'x'.repeat(200), poison: 0, failsOnce: 1 / 20_000, slow: 1 / 2_000 }

/** The payload of a message by its number. */
export function payloadOf(random: Random, number: number, { padding, poison, failsOnce, slow }: Shape): Payload {
  const workMs = random() < slow ? between(random, 200, 800) : between(random, 0, 4)
  const dice = random()
  const fails = dice < poison ? 'always' : dice < poison + failsOnce ? 'once' : 'never'
  return { id: `m-${number}`, workMs, fails, padding }
}
