import { setTimeout as sleep } from 'node:timers/promises'

/** There was no answer in time. Its connection can no longer be trusted. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

/** Rejects when `work` takes longer. A late result or rejection is ignored. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = sleep(ms, undefined, { signal: timer.signal }).then(() => {
    throw new NoAnswerError(`${what}: no answer within ${ms} ms`)
  })
  late.catch(() => {})
  work.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
  }
}
