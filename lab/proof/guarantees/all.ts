import { DURABLE_LEASE_ON_REDIS } from './durable-lease-on-redis.ts'
import type { Guarantee } from './guarantee.ts'
import { INBOX } from './inbox.ts'
import { KEYED } from './keyed.ts'
import { LEASE_ON_POSTGRES } from './lease-on-postgres.ts'
import { LEASE_ON_REDIS } from './lease-on-redis.ts'
import { MARK_FIRST } from './mark-first.ts'
import { OBSERVE } from './observe.ts'
import { OFFSETS } from './offsets.ts'
import { PARK } from './park.ts'
import { RUN_UNPROTECTED } from './run-unprotected.ts'
import { INBOX_SEQUENCES, SEQUENCES } from './sequences.ts'
import { SEVERAL_IDENTITIES } from './several-identities.ts'

/** The table of docs/guarantees.md, row by row, with what shows each cell. */
export const GUARANTEES: readonly Guarantee[] = [
  INBOX,
  LEASE_ON_REDIS,
  DURABLE_LEASE_ON_REDIS,
  LEASE_ON_POSTGRES,
  OFFSETS,
  KEYED,
  PARK,
  RUN_UNPROTECTED,
  OBSERVE,
  MARK_FIRST,
  SEQUENCES,
  INBOX_SEQUENCES,
  SEVERAL_IDENTITIES,
]
