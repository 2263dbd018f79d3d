import { isConflictOfTransactions, isDuplicateKey } from './sql-errors.ts'

/** Deadlocks with other transactions end by themselves; more than a few in a row are something else. */
const TRIES = 5

/** Tries again what was chosen to lose against another transaction, or came a moment after it. */
export async function despiteConflicts<T>(once: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await once()
    } catch (error) {
      if (!(isConflictOfTransactions(error) || isDuplicateKey(error)) || tries === TRIES) throw error
    }
  }
}
