import type { PgliteLike, PgliteQueries } from '../clients.ts'

/** A PGlite transaction that the caller keeps open. */
export interface OpenPglite {
  readonly transaction: PgliteQueries
  /** Rejects if PGlite could not commit. */
  commit(): Promise<void>
  /** Never rejects. May be called after `commit`. */
  rollback(): Promise<void>
}

/**
 * PGlite runs a transaction in a callback and commits when the callback ends, so the callback waits for `commit` or
 * `rollback`.
 */
export function openPglite(db: PgliteLike): Promise<OpenPglite> {
  return new Promise((resolve, reject) => {
    const ended = db.transaction(async (transaction) => {
      const isCommit = await new Promise<boolean>((decide) => {
        resolve({
          transaction,
          commit: async () => {
            decide(true)
            await ended
          },
          rollback: async () => {
            decide(false)
            await ended.catch(() => {})
          },
        })
      })
      if (!isCommit) await transaction.rollback()
    })
    ended.catch(reject)
  })
}
