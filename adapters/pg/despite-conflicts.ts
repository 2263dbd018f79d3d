import { isConflictOfTransactions } from './sql-errors.ts'

/** Deadlocks with transactions of handlers resolve themselves; more than a few in a row have another cause. */
const TRIES = 5

/** Retries after a deadlock or serialization failure. */
export async function despiteConflicts<T>(once: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await once()
    } catch (error) {
      if (!isConflictOfTransactions(error) || tries === TRIES) throw error
    }
  }
}
