import { hasCode, StoreError } from '../foundation/errors.ts'

/**
 * The answer to a question that changes nothing: where none came, nothing is ambiguous, and it can be asked again.
 * @throws StoreError `STORE_UNREACHABLE` in place of `STORE_AMBIGUOUS`
 */
export async function ofRead<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (error) {
    if (!hasCode(error, 'STORE_AMBIGUOUS')) throw error
    throw new StoreError('STORE_UNREACHABLE', error.message, { cause: error.cause ?? error })
  }
}
