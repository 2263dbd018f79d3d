import { setTimeout as sleep } from 'node:timers/promises'

/** No answer in time. The connection that owes it is not to be trusted any more. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

/** Rejects when `work` takes longer; its late result is dropped, its late rejection too. */
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
