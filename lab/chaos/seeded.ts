/** A source of chance between 0 and 1, the same for the same seed. */
export type Random = () => number

/** Mulberry32, one independent stream for each name: what one part of a run draws changes nothing for the others. */
export function seeded(seed: number, stream: string): Random {
  let state = seed
  for (const character of stream) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function between(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1))
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const left = [...items]
  return items.map(() => {
    const [taken] = left.splice(between(random, 0, left.length - 1), 1)
    if (taken === undefined) throw new TypeError('as many are left as were put in')
    return taken
  })
}
