// What a change of the group cost, from what its members told. Pure.

/** A message of a partition has been handled by a member. */
export interface Run {
  readonly id: string
  readonly partition: number
  readonly process: string
  readonly at: number
}

export interface Window {
  readonly from: number
  readonly to: number
}

/** Of one change in one round. */
export interface Cost {
  /** Partitions that another member had afterwards. */
  readonly moved: number
  /** The longest time without a handled message of a partition that stayed, and of one that moved. `undefined`: there was none. */
  readonly stayedMs: number | undefined
  readonly movedMs: number | undefined
  /** Deliveries of a message that had been delivered before, whether or not its handler ran. */
  readonly redelivered: number
  /** Runs of a handler beyond the first of their message. */
  readonly handledAgain: number
}

/** @param runs - in the order of time, also those before the window; @param again - when redeliveries ended without a run */
export function costOf(runs: readonly Run[], again: readonly number[], window: Window): Cost {
  const isWithin = (at: number): boolean => at >= window.from && at < window.to
  const seen = new Set<string>()
  let handledAgain = 0
  const byPartition = new Map<number, Run[]>()
  for (const run of runs) {
    if (seen.has(run.id) && isWithin(run.at)) handledAgain++
    seen.add(run.id)
    byPartition.set(run.partition, [...(byPartition.get(run.partition) ?? []), run])
  }
  const pauses = { stayed: [] as number[], moved: [] as number[] }
  for (const own of byPartition.values()) {
    const before = own.findLast(({ at }) => at < window.from)
    const within = own.filter(({ at }) => isWithin(at))
    const after = within.at(-1)
    if (before === undefined || after === undefined) throw new Error('a partition was handled on one side only')
    const times = [window.from, ...within.map(({ at }) => at), window.to]
    const longest = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)))
    pauses[before.process === after.process ? 'stayed' : 'moved'].push(longest)
  }
  return {
    moved: pauses.moved.length,
    stayedMs: longestOf(pauses.stayed),
    movedMs: longestOf(pauses.moved),
    redelivered: again.filter(isWithin).length + handledAgain,
    handledAgain,
  }
}

function longestOf(pauses: readonly number[]): number | undefined {
  return pauses.length === 0 ? undefined : Math.max(...pauses)
}

/** `undefined` if there are none. */
export function medianOf(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}
