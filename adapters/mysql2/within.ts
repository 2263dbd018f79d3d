import { StoreError } from '../../src/index.ts'

/** Rejects with `STORE_AMBIGUOUS` when an answer stays out: `mysql2` waits forever on a black-holed connection. */
export function within<T>(limitMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new StoreError('STORE_AMBIGUOUS', `${what}: expected an answer within ${limitMs} ms, got none`))
    }, limitMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
