import { StoreError } from '../../src/foundation/errors.ts'
import { within } from '../../src/foundation/within.ts'

/** Waits for a server, but not for ever. @throws StoreError `STORE_UNREACHABLE` if it does not answer in time */
export function answerWithin<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = (): Error => new StoreError('STORE_UNREACHABLE', `no answer within ${ms / 1_000} s`)
  return within(ms, work, late, { background: true })
}
