import type { InboxStore } from '../../../src/spi.ts'
import { adminOf } from '../admin.ts'
import { transactionStore, type StoreParts } from '../transaction-store.ts'
import { INBOX_ADMIN } from './admin.ts'
import { InboxClaims } from './claim.ts'
import type { InboxPlace } from './statements.ts'

/** An inbox in the tables of a database. */
export function sqlInbox<Tx>(parts: StoreParts<Tx, InboxPlace<Tx>>): InboxStore<Tx> {
  const claims = new InboxClaims()
  return {
    ...transactionStore(parts, (place, request, lockTimeoutMs) => claims.claim(place, request, lockTimeoutMs)),
    strategy: 'inbox',
    admin: adminOf(parts.sessions.errors, parts.database, INBOX_ADMIN),
  }
}
