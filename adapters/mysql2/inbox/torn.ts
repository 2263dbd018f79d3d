import type { Reason } from '../../../src/index.ts'

/**
 * A claimed row that is seen from outside was committed without a mark: a handler has ended the transaction by itself, as DDL
 * does in MySQL. What it had written until then is committed too, and nobody knows how much that is.
 */
export const TORN: Reason = 'transaction-torn: a handler committed its transaction by itself (DDL, LOCK TABLES, COMMIT)'
