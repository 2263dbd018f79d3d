import type { ClaimRequest, DurationMs, InboxStore, StoreAdmin, TransactionAnswer } from '../../../src/spi.ts'
import { adminOf } from '../admin.ts'
import { TransactionStore, type StoreParts } from '../transaction-store.ts'
import { INBOX_ADMIN } from './admin.ts'
import { InboxClaims } from './claim.ts'
import type { InboxPlace } from './statements.ts'

/** An inbox in the tables of a database. */
export class SqlInbox<Tx> extends TransactionStore<Tx, InboxPlace<Tx>> implements InboxStore<Tx> {
  readonly strategy = 'inbox'
  readonly admin: StoreAdmin
  readonly #claims = new InboxClaims()

  constructor(parts: StoreParts<Tx, InboxPlace<Tx>>) {
    super(parts)
    this.admin = adminOf(parts.sessions.errors, (scope) => this.placeOf(scope), INBOX_ADMIN)
  }

  protected grant(
    place: InboxPlace<Tx>,
    request: ClaimRequest,
    lockTimeoutMs: DurationMs,
  ): Promise<readonly TransactionAnswer<Tx>[]> {
    return this.#claims.claim(place, request, lockTimeoutMs)
  }
}
