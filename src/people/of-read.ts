import { hasCode, StoreError } from '../foundation/errors.ts'
import type { StoreAdmin } from '../ports/store-admin.ts'

/**
 * The answer to a question that changes nothing: where none came, nothing is ambiguous, and it can be asked again.
 *
 * @param admin - the store that was asked: a connection that it refuses ends the question at once
 * @throws StoreError `STORE_UNREACHABLE` in place of `STORE_AMBIGUOUS`
 */
export async function ofRead<T>(asking: Promise<T>, admin: Pick<StoreAdmin, 'onRefused'> = {}): Promise<T> {
  try {
    return await (admin.onRefused === undefined ? asking : unlessRefused(asking, admin))
  } catch (error) {
    if (!hasCode(error, 'STORE_AMBIGUOUS')) throw error
    throw new StoreError('STORE_UNREACHABLE', error.message, { cause: error.cause ?? error })
  }
}

function unlessRefused<T>(asking: Promise<T>, admin: Pick<StoreAdmin, 'onRefused'>): Promise<T> {
  return new Promise((resolve, reject) => {
    const unwatch = admin.onRefused?.((why) => reject(new StoreError('STORE_UNREACHABLE', why)))
    void asking.then(resolve, reject).finally(() => unwatch?.())
  })
}
