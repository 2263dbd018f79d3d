import type { Note, ReplayRequest, Strategy, Taking } from '../../src/internal.ts'
import { NO_KEY, notedAbout } from '../sql/history/audit.ts'
import type { AuditPageOf, AuditRow, HistoryStatements, ReplayRow, ScopeTimes, Use } from '../sql/history/statements.ts'
import { epochMs } from './statements/literals.ts'
import type { Statement } from './statements/statement.ts'
import type { Tables } from './statements/tables.ts'
import { DURABLY } from './statements/transaction.ts'

const START = `with limits as materialized (select ${DURABLY})`

/** After a wait for a lock `now()` is in the past: another's hold seems longer and one's own is shorter, both safe. */
const REPLAY = `r.id, r.state, r.owner, r.request, ${epochMs('r.created_at')} as created_at, ${epochMs('r.saved_at')} as saved_at,
  coalesce(ceil(extract(epoch from r.held_until - now()) * 1000), 0)::float8 as left_ms`

const HELD_UNTIL = (ms: string): string => `now() + ${ms}::float8 * interval '1 millisecond'`

/** Replays are listed in this order, and PGlite has a clock of milliseconds. */
const AFTER_ALL = (replay: string): string =>
  `greatest(now(), (select max(created_at) + interval '1 microsecond' from ${replay} where scope = $1))`

const NOW_MS = 'ceil(extract(epoch from clock_timestamp()) * 1000)::float8'

/** What the tables keep beside the records of one scope, in the SQL of Postgres. */
export function pgHistory(tables: Tables, scope: number, strategy: Strategy): HistoryStatements {
  // Records of an inbox are removed by a purge, which notes how far it went.
  const recordsEnd = strategy === 'lease'
  return {
    noteUse({ retentionMs, forMs }: Use): Statement {
      const used = recordsEnd
        ? `, retentions = coalesce(retentions, '{}') || jsonb_build_object($2::text, ${NOW_MS} + $3::float8)`
        : ''
      return {
        text: `${START}
update ${tables.scope} set first_claim_at = coalesce(first_claim_at, clock_timestamp())${used}
from limits where id = $1${recordsEnd ? '' : ' and first_claim_at is null'}`,
        values: recordsEnd ? [scope, String(retentionMs), forMs] : [scope],
      }
    },

    readTimes(): Statement<ScopeTimes> {
      return {
        text: `select ceil(extract(epoch from first_claim_at) * 1000)::float8 as first_claim_at, ${NOW_MS} as now,
    ceil(extract(epoch from purged_to) * 1000)::float8 as purged_to, ${recordsEnd ? 'retentions::text' : 'null'} as retentions from ${tables.scope} where id = $1`,
        values: [scope],
      }
    },

    // In the order of the column: a bare `id` would be the text of the same name.
    readAudit({ key, by, decision, since, until, after, limit }: AuditPageOf): Statement<AuditRow> {
      return {
        text: `select a.id::text as id, ${epochMs('a.at')} as at, encode(a.key, 'hex') as key, a.decision, a.by_whom, a.reason, a.before::text as before
from ${tables.audit} a
where a.scope = $1 and ($2::text is null or a.key = decode($2, 'hex')) and ($3::bigint is null or a.id < $3)
  and ($5::text is null or a.by_whom = $5) and ($6::text is null or a.decision = $6)
  and ($7::float8 is null or ${epochMs('a.at')} >= $7) and ($8::float8 is null or ${epochMs('a.at')} < $8)
order by a.id desc limit $4`,
        values: [scope, key ?? null, after ?? null, limit, by ?? null, decision ?? null, since ?? null, until ?? null],
      }
    },

    writeNote({ what, about, by, reason }: Note): Statement {
      return {
        text: `${START}
insert into ${tables.audit} (scope, key, decision, by_whom, reason, before)
select $1::smallint, decode($2, 'hex'), $3, $4, $5, $6::json from limits`,
        values: [scope, NO_KEY, what, by, reason, notedAbout(about)],
      }
    },

    takeReplay(id: string, { owner, ttlMs, state }: Taking): Statement<ReplayRow> {
      const isFree = 'r.owner is null or r.owner = excluded.owner or r.held_until <= now()'
      return {
        text: `${START}
insert into ${tables.replay} as r (scope, id, owner, held_until, state, created_at)
select $1::smallint, $2, $3, ${HELD_UNTIL('$4')}, $5, ${AFTER_ALL(tables.replay)} from limits
on conflict (scope, id) do update set owner = case when ${isFree} then excluded.owner else r.owner end,
    held_until = case when ${isFree} then excluded.held_until else r.held_until end,
    request = case when (${isFree}) and r.owner is distinct from excluded.owner then nullif(r.request, 'pause') else r.request end
returning ${REPLAY}`,
        values: [scope, id, owner, ttlMs, state],
      }
    },

    /** A hold that has ended is not lost until somebody else takes it. */
    saveReplay(id: string, { owner, ttlMs, state }: Taking): Statement<Pick<ReplayRow, 'request'>> {
      return {
        text: `${START}
update ${tables.replay} r set state = $5, saved_at = now(), held_until = ${HELD_UNTIL('$4')}
from limits where r.scope = $1 and r.id = $2 and r.owner = $3 returning r.request`,
        values: [scope, id, owner, ttlMs, state],
      }
    },

    leaveReplay(id: string, owner: string): Statement {
      return {
        text: `${START}
update ${tables.replay} set owner = null, held_until = null from limits where scope = $1 and id = $2 and owner = $3`,
        values: [scope, id, owner],
      }
    },

    askReplay(id: string, request: ReplayRequest | undefined): Statement {
      return {
        text: `${START}
update ${tables.replay} set request = $3 from limits where scope = $1 and id = $2 returning id`,
        values: [scope, id, request ?? null],
      }
    },

    readReplay(id: string): Statement<ReplayRow> {
      return {
        text: `select ${REPLAY} from ${tables.replay} r where r.scope = $1 and r.id = $2`,
        values: [scope, id],
      }
    },

    listReplays(limit: number): Statement<ReplayRow> {
      return {
        text: `select ${REPLAY} from ${tables.replay} r where r.scope = $1 order by r.created_at desc, r.id limit $2`,
        values: [scope, limit],
      }
    },
  }
}
