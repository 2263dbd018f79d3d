import type { ClaimRequest, DurationMs, OffsetsStore, Positions, TransactionAnswer } from '../../../src/spi.ts'
import { TransactionStore, type StoreParts } from '../../sql/transaction-store.ts'
import type { PgPlace } from '../database.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import { claimOfOffsets } from './claim.ts'
import { StoredPositions } from './stored-positions.ts'

export class PgOffsets extends TransactionStore<PgTransaction, PgPlace> implements OffsetsStore<PgTransaction> {
  readonly strategy = 'offsets'
  readonly positions: Positions

  constructor(parts: StoreParts<PgTransaction, PgPlace>) {
    super(parts)
    const positions = new StoredPositions((scope) => this.placeOf(scope))
    this.positions = {
      next: (scope, streams) => this.answered('positions', () => positions.next(scope, streams)),
      pass: (scope, position) => this.answered('pass', () => positions.pass(scope, position)),
      hold: (scope, at, why) => this.answered('hold', () => positions.hold(scope, at, why)),
      prove: (scope, at) => this.answered('prove', () => positions.prove(scope, at)),
      list: (scope) => this.answered('list', () => positions.list(scope)),
      release: (scope, stream, how) => this.answered('release', () => positions.release(scope, stream, how)),
    }
  }

  protected grant(
    place: PgPlace,
    request: ClaimRequest,
    lockTimeoutMs: DurationMs,
  ): Promise<readonly TransactionAnswer<PgTransaction>[]> {
    return claimOfOffsets(place, request, lockTimeoutMs)
  }
}
