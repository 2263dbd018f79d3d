import { randomBytes } from 'node:crypto'
import { ConfigError, describeError, systemEntropy, type Strategy } from '../../src/spi.ts'
import { countFirst, forgetAttempts } from './inbox/statements/attempts.ts'
import { claimTogether } from './inbox/statements/records.ts'
import { claimAbsent } from './lease/statements/claim.ts'
import { markLeases } from './lease/statements/mark.ts'
import { movePositions } from './offsets/statements/ends.ts'
import { forgetBegun, holdForHandlers } from './offsets/statements/streams.ts'
import type { PgSessions } from './sessions/session.ts'
import { sqlState } from './sql-errors.ts'
import { text } from './statements/literals.ts'
import type { Statement } from './statements/statement.ts'
import type { Tables } from './statements/tables.ts'

/** No scope has this ID: they count from 1. */
const scope = 0

/**
 * Claims and marks something that nobody has, and rolls that back. Only this shows that a server takes the writes of a
 * claim: settings tell a part of it.
 */
export async function tryClaim(sessions: PgSessions, tables: Tables, strategy: Strategy): Promise<void> {
  await sessions.undone(CLAIMS[strategy](tables))
}

/** @throws ConfigError `CONFIG_INVALID` if the server takes no claims, as it is or with these rights */
export async function checkClaim(sessions: PgSessions, tables: Tables, strategy: Strategy): Promise<void> {
  try {
    await tryClaim(sessions, tables, strategy)
  } catch (error) {
    const why = whyNoClaim(error, tables)
    if (why === undefined) throw error
    throw new ConfigError([`Postgres: a claim, which was tried and rolled back: ${why}`], 'CONFIG_INVALID', {
      cause: error,
    })
  }
}

/** What people have to do about a refused claim; `undefined` if it may pass by itself. */
export function whyNoClaim(error: unknown, { schema }: Pick<Tables, 'schema'>): string | undefined {
  const advice = ADVICE[sqlState(error) ?? '']
  return advice === undefined
    ? undefined
    : `${describeError(error).replace(/\.+$/, '')}. ${advice.replaceAll('SCHEMA', schema)}`
}

const ADVICE: Readonly<Record<string, string>> = {
  '25006': 'The server takes no writes (a replica, or the reader of a cluster): connect the pool to the primary',
  '42501':
    'The role lacks rights: grant usage on schema SCHEMA, and select, insert, update, delete on all tables in schema SCHEMA, to the role of the pool',
}

const CLAIMS: { readonly [S in Strategy]: (tables: Tables) => readonly Statement[] } = {
  inbox: (tables) => {
    const [key, token] = [aKey(), systemEntropy.ownerToken()]
    const items = [{ key, fp: null }]
    return [
      countFirst(tables, { scope, items, token, keepMs: 1 }),
      claimTogether(tables, scope, items, 1),
      forgetAttempts(tables, scope, [key]),
    ]
  },
  lease: (tables) => {
    const [keys, owner] = [[aKey()], systemEntropy.ownerToken()]
    const asked = { scope, lockTimeoutMs: 1_000, keys, fps: [''] }
    return [
      claimAbsent(tables, { ...asked, owner, leaseMs: 1, retentionMs: 1, alone: false }),
      markLeases(tables, { ...asked, owners: [owner], fences: [1], retentions: [1], results: [''] }),
    ]
  },
  offsets: (tables) => {
    const stream = `consume-once ${aKey()}`
    return [
      { text: `insert into ${tables.position} (scope, stream, next_offset) values (${scope}, ${text(stream)}, 0)` },
      holdForHandlers(tables, scope, [{ stream, first: 0n, last: 0n }]),
      movePositions(tables, scope, systemEntropy.ownerToken(), [{ stream, from: 0n, to: 1n }]),
      forgetBegun(tables, scope, [stream]),
    ]
  },
}

function aKey(): string {
  return randomBytes(16).toString('hex')
}
