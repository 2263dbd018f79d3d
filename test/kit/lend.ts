import type { LentTransaction, TransactionClaim } from '../../src/internal.ts'

export function lend<Tx>(claimed: TransactionClaim<Tx>): LentTransaction<Tx> {
  if (claimed.transaction === undefined) throw new Error('expected a claim with a transaction')
  return claimed.transaction.lend()
}
