import type { OffsetsStore } from '../../../src/internal.ts'
import { transactionStore, type StoreParts } from '../../sql/transaction-store.ts'
import type { PgPlace } from '../database.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import { claimOfOffsets } from './claim.ts'
import { storedPositions } from './stored-positions.ts'

export function pgOffsets(parts: StoreParts<PgTransaction, PgPlace>): OffsetsStore<PgTransaction> {
  return { ...transactionStore(parts, claimOfOffsets), strategy: 'offsets', positions: storedPositions(parts) }
}
