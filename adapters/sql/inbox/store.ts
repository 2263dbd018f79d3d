import type { InboxStore } from '../../../src/internal.ts'
import { adminOf } from '../admin.ts'
import { PLAIN_KEYS, type KeyForm } from '../bytes.ts'
import { transactionStore, type StoreParts } from '../transaction-store.ts'
import { INBOX_ADMIN } from './admin.ts'
import { InboxClaims } from './claim.ts'
import type { InboxPlace } from './statements.ts'

/** An inbox in the tables of a database. */
export function sqlInbox<Tx>(parts: StoreParts<Tx, InboxPlace<Tx>>, keys: KeyForm = PLAIN_KEYS): InboxStore<Tx> {
  const claims = new InboxClaims(keys)
  return {
    ...transactionStore(parts, (place, request, lockTimeoutMs) => claims.claim(place, request, lockTimeoutMs)),
    strategy: 'inbox',
    admin: adminOf(parts.sessions.errors, parts.database, INBOX_ADMIN, keys.hexOf),
  }
}
