import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startedAt } from './process-tree.ts'

/** The process that works on behalf of all. */
interface Holder {
  readonly pid: number
  readonly since: string | undefined
}

/**
 * What one process of the machine finds out for all: the others wait for `known`. `find` runs with the lock held, and has
 * made `known` give a result when it resolves.
 */
export async function foundOnce<T>(lock: string, known: () => T | undefined, find: () => Promise<T>): Promise<T> {
  for (;;) {
    const found = known()
    if (found !== undefined) return found
    if (becomesHolder(lock)) break
    await sleep(100)
  }
  try {
    return known() ?? (await find())
  } finally {
    rmSync(lock, { force: true })
  }
}

export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * A link is made whole by one process and refused to all others, so that one of them works until it is done. If it died
 * before, the next one goes on; should two notice that at once, both do the work: it must bear that.
 */
function becomesHolder(lock: string): boolean {
  const own = `${lock}-${process.pid}`
  writeFileSync(own, JSON.stringify({ pid: process.pid, since: startedAt(process.pid) } satisfies Holder))
  try {
    linkSync(own, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const other = readJson(lock) as Holder | undefined
    if (other && startedAt(other.pid) !== other.since) rmSync(lock, { force: true })
    return false
  } finally {
    rmSync(own)
  }
}
