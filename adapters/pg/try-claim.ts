import { systemEntropy, type Strategy } from '../../src/internal.ts'
import { randomKey } from '../sql/bytes.ts'
import type { TrialClaim } from '../sql/checkup.ts'
import { forgetAttempts } from './inbox/statements/attempts.ts'
import { beginClaim, countClaim, forgetClaim, triedKeys } from './inbox/statements/claims.ts'
import { claimAbsent } from './lease/statements/claim.ts'
import { markLeases } from './lease/statements/mark.ts'
import { movePositions } from './offsets/statements/ends.ts'
import { forgetBegun, holdForHandlers } from './offsets/statements/streams.ts'
import type { PgSessions } from './sessions/session.ts'
import { isBeforeTables, sqlState } from './sql-errors.ts'
import { text } from './statements/literals.ts'
import type { Statement } from './statements/statement.ts'
import type { Tables } from './statements/tables.ts'

/** No scope has this ID: they count from 1. */
const scope = 0

/** Claims a key that nobody else has. */
export function trialClaim(sessions: PgSessions, tables: Tables, strategy: Strategy): TrialClaim {
  return {
    run: () => sessions.undone(CLAIMS[strategy](tables)),
    codeOf: sqlState,
    isBeforeTables,
    advice: (error) => ADVICE[sqlState(error) ?? '']?.replaceAll('SCHEMA', tables.schema),
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  '25006': 'The server takes no writes (a replica, or the reader of a cluster): connect the pool to the primary',
  '42501':
    'The role lacks rights: grant usage on schema SCHEMA, and select, insert, update, delete on all tables in schema SCHEMA, to the role of the pool',
}

const CLAIMS: { readonly [S in Strategy]: (tables: Tables) => readonly Statement[] } = {
  inbox: (tables) => {
    const [keys, token] = [[randomKey()], systemEntropy.ownerToken()]
    return [
      countClaim(tables, { scope, items: keys.map((key) => ({ key, fp: null })), token, keepMs: 1 }),
      beginClaim(tables, { scope, token, keepMs: 1, keys }, { from: 0, isOldestAsked: true }),
      triedKeys(tables, { scope, keys: { of: token }, open: 'nothing' }),
      forgetClaim(tables, scope, token),
      forgetAttempts(tables, scope, keys),
    ]
  },
  lease: (tables) => {
    const [keys, owner] = [[randomKey()], systemEntropy.ownerToken()]
    const asked = { scope, lockTimeoutMs: 1_000, keys, fps: [''] }
    return [
      claimAbsent(tables, { ...asked, owner, leaseMs: 1, retentionMs: 1, alone: false }),
      markLeases(tables, { ...asked, owners: [owner], fences: [1], retentions: [1], results: [''] }),
    ]
  },
  offsets: (tables) => {
    const stream = `consume-once ${randomKey()}`
    return [
      { text: `insert into ${tables.position} (scope, stream, next_offset) values (${scope}, ${text(stream)}, 0)` },
      holdForHandlers(tables, scope, [{ stream, first: 0n, last: 0n }]),
      movePositions(tables, scope, systemEntropy.ownerToken(), [{ stream, from: 0n, to: 1n }]),
      forgetBegun(tables, scope, [stream]),
    ]
  },
}
