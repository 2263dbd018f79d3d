import { systemClock } from '../../src/foundation/clock.ts'
import { StoreError } from '../../src/foundation/errors.ts'

/** Waits for a server, but not for ever. @throws StoreError `STORE_UNREACHABLE` if it does not answer in time */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new StoreError('STORE_UNREACHABLE', `no answer within ${ms / 1_000} s`))
    const cancel = systemClock.after(ms, late, { background: true })
    work.then(resolve, reject).finally(cancel)
  })
}
