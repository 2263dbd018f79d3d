import { isConflictOfTransactions, isDuplicateKey } from './sql-errors.ts'

/** Deadlocks with other transactions resolve themselves; more than a few in a row have another cause. */
const TRIES = 5

/** Retries after a deadlock, and after another transaction has just inserted the same key. */
export async function despiteConflicts<T>(once: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await once()
    } catch (error) {
      if (!(isConflictOfTransactions(error) || isDuplicateKey(error)) || tries === TRIES) throw error
    }
  }
}
