import { systemEntropy } from '../../src/internal.ts'
import { randomKey } from '../sql/bytes.ts'
import type { TrialClaim } from '../sql/checkup.ts'
import { countFirst, forgetAttempts } from './inbox/statements/attempts.ts'
import { claimKeys, markKeys } from './inbox/statements/records.ts'
import { rowOf } from '../sql/lease/record.ts'
import { writeLeases } from './lease/statements/records.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import { errnoOf, isBeforeTables } from './sql-errors.ts'
import type { Script } from './statements/script.ts'
import type { Tables } from './statements/tables.ts'

/** No scope has this ID: the column counts from 1. */
const NO_SCOPE = 0

/** Claims a key that nobody else has. */
export function trialClaim(sessions: MysqlSessions, tables: Tables, strategy: 'inbox' | 'lease'): TrialClaim {
  return {
    run: () => sessions.undone(strategy === 'inbox' ? claimOfInbox(tables) : claimOfLease(tables)),
    codeOf: errnoOf,
    isBeforeTables,
    advice: (error) => {
      const advice = ADVICE.find(([errnos]) => errnos.includes(errnoOf(error) ?? 0))?.[1]
      return advice?.replaceAll('DATABASE', tables.database)
    },
  }
}

const ADVICE: readonly (readonly [errnos: readonly number[], advice: string])[] = [
  [
    // Also what InnoDB says with innodb_read_only, as readers of a cluster have it.
    [1015, 1036, 1290, 1792, 1836, 1874, 3100],
    'The server takes no writes (read_only, super_read_only, innodb_read_only, a replica or the reader of a cluster): connect the pool to the primary',
  ],
  [
    [1665],
    'The binary log has binlog_format = STATEMENT, which takes no writes at READ COMMITTED, the level of a claim: set binlog_format = ROW (or MIXED)',
  ],
  [
    [1044, 1142, 1143, 1227, 1410],
    "The user lacks rights: grant select, insert, update, delete on `DATABASE`.* to the user of the pool, and for setup: 'auto' also create, alter, index",
  ],
]

function claimOfInbox(tables: Tables): Script {
  const claim = {
    scope: NO_SCOPE,
    items: [{ key: randomKey(), fp: null }],
    owner: systemEntropy.ownerToken(),
    keepMs: 1,
  }
  const keys = claim.items.map(({ key }) => key)
  const parts = [
    countFirst(tables, claim),
    claimKeys(tables, claim),
    markKeys(tables, { scope: NO_SCOPE, keys, results: new Map(), keepMs: 1 }),
    forgetAttempts(tables, NO_SCOPE, keys),
  ]
  return { statements: parts.flatMap(({ statements }) => statements) }
}

function claimOfLease(tables: Tables): Script {
  const record = { digest: '', fence: 1, owner: systemEntropy.ownerToken(), keepUntil: 0 }
  const row = rowOf(randomKey(), { state: 'done', ...record, since: undefined, result: undefined })
  const rows = row === undefined ? [] : [row]
  return { statements: writeLeases(tables, NO_SCOPE, { fresh: rows, kept: rows }) }
}
