import { existsSync, readFileSync } from 'node:fs'

/** Linux: what the scheduler gave to this thread, in nanoseconds. Elsewhere all threads of the process are counted. */
const OF_THREAD = '/proc/thread-self/schedstat'
const isOfThread = existsSync(OF_THREAD)

function cpuMs(): number {
  if (isOfThread) return Number(readFileSync(OF_THREAD, 'utf8').split(' ')[0]) / 1_000_000
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/**
 * CPU that each turn of the event loop took while something was done, in milliseconds, the longest first: everything else in
 * the process waits so long. Not the time by the clock, which a machine that is busy stretches.
 */
export async function turnsDuring(work: () => Promise<unknown>): Promise<readonly number[]> {
  const turns: number[] = []
  let isOver = false
  let last = cpuMs()
  const turn = (): void => {
    turns.push(cpuMs() - last)
    last = cpuMs()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  try {
    await work()
  } finally {
    isOver = true
  }
  await new Promise((resolve) => void setImmediate(resolve))
  return turns.toSorted((a, b) => b - a)
}
