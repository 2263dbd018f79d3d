/** All randomness of one schedule, from its seed. Mulberry32: small, and good enough for this purpose. */
export class Chance {
  #state: number

  constructor(seed: number) {
    // Neighbouring seeds must give unrelated sequences.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0
  }

  /** 0 <= fraction < 1 */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number, 0 <= number < most. */
  below(most: number): number {
    return Math.floor(this.fraction() * most)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  happens(rate: number): boolean {
    return this.fraction() < rate
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)]
    if (picked === undefined) throw new TypeError('nothing to pick from (chance.pick)')
    return picked
  }
}
