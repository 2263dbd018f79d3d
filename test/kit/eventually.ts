import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../../src/foundation/errors.ts'

/** Looks again and again, for what only a server knows. Gives up late, so that a failed test leaves no loop behind. */
export async function eventually(isSo: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not so within ${withinMs} ms: ${String(isSo)}`)
    await sleep(20)
  }
}

/** Calls again and again until it resolves, for example while connections that are gone are found out one by one. */
export async function untilResolved<T>(call: () => Promise<T>, withinMs = 15_000): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

/** Asks a store as the pipeline does: the same again, until there is an answer. */
export async function untilAnswered<T>(call: () => Promise<T>, withinMs = 15_000): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isUnknown = hasCode(error, 'STORE_AMBIGUOUS') || hasCode(error, 'STORE_UNREACHABLE')
      if (!isUnknown || performance.now() > deadline) throw error
      await new Promise(setImmediate)
    }
  }
}
