import type { PgliteLike, PgliteQueries } from './clients.ts'

/** A transaction of PGlite that is held open from outside. */
export interface OpenPglite {
  readonly transaction: PgliteQueries
  /** Rejects where PGlite could not commit. */
  commit(): Promise<void>
  /** Never rejects. May be called after `commit`. */
  rollback(): Promise<void>
}

/** PGlite gives a transaction to a callback and commits when that ends, so the callback waits until it is told how. */
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
