import { StoreError } from '../../src/internal.ts'

/**
 * Rejects with `STORE_AMBIGUOUS` if there is no answer in time: without a limit a driver waits for ever on a dead
 * connection.
 */
export function answeredWithin<T>(limitMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new StoreError('STORE_AMBIGUOUS', `${what}: expected an answer within ${limitMs} ms, got none`))
    }, limitMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
