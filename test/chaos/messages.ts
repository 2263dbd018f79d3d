import { between, type Random } from './seeded.ts'

/** What a worker reads. Two messages of one ID are equal to the byte. */
export interface Payload {
  readonly id: string
  readonly workMs: number
  /** `once`: the first attempt. Before the effect. */
  readonly fails: 'never' | 'once' | 'always'
  readonly padding: string
}

interface Shape {
  /** Bytes that nobody reads. */
  readonly padding: string
  /** Share of the messages that no attempt helps. */
  readonly poison: number
}

/** The payload of a message by its number. */
export function payloadOf(random: Random, number: number, { padding, poison }: Shape): Payload {
  const workMs = random() < 1 / 50 ? between(random, 200, 800) : between(random, 0, 4)
  const dice = random()
  const fails = dice < poison ? 'always' : dice < poison + 1 / 1_000 ? 'once' : 'never'
  return { id: `m-${number}`, workMs, fails, padding }
}
