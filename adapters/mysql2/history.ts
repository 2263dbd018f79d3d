import type { Note, ReplayRequest, Strategy, Taking } from '../../src/internal.ts'
import { NO_KEY, notedAbout } from '../sql/history/audit.ts'
import type { AuditPageOf, AuditRow, HistoryStatements, ReplayRow, ScopeTimes, Use } from '../sql/history/statements.ts'
import { ascii, bytes, epochMs, epochMsAtLeast, fromHex, fromNow, inHex, text } from './statements/literals.ts'
import type { Script } from './statements/script.ts'
import type { Tables } from './statements/tables.ts'

const REPLAY = `${inHex('id')} as id, ${inHex('state')} as state, ${inHex('owner')} as owner, request,
  ${epochMs('created_at')} as created_at, ${epochMs('saved_at')} as saved_at,
  coalesce(ceil(timestampdiff(microsecond, utc_timestamp(6), held_until) / 1000), 0) as left_ms`

/** What the tables keep beside the records of one scope, in the SQL of MariaDB and MySQL. */
export function mysqlHistory(tables: Tables, scope: number, strategy: Strategy): HistoryStatements {
  // Records of an inbox are removed by a purge, which notes how far it went.
  const recordsEnd = strategy === 'lease'
  const isReplay = (id: string): string => `scope = ${scope} and id = ${ascii(id)}`
  const select = (id: string): string => `select ${REPLAY} from ${tables.replay} where ${isReplay(id)}`
  return {
    noteUse({ retentionMs, forMs }: Use): Script {
      const until = `${epochMsAtLeast('utc_timestamp(6)')} + ${forMs}`
      const used = `retentions = json_set(coalesce(retentions, '{}'), ${text(`$."${retentionMs}"`)}, ${until})`
      return {
        statements: [
          recordsEnd
            ? `update ${tables.scope} set first_claim_at = coalesce(first_claim_at, utc_timestamp(6)), ${used} where id = ${scope}`
            : `update ${tables.scope} set first_claim_at = utc_timestamp(6) where id = ${scope} and first_claim_at is null`,
        ],
      }
    },

    readTimes(): Script<ScopeTimes> {
      const [first, purged] = [epochMsAtLeast('first_claim_at'), epochMsAtLeast('purged_to')]
      return {
        statements: [
          `select ${first} as first_claim_at, ${purged} as purged_to, ${recordsEnd ? 'retentions' : 'null'} as retentions,
    ${epochMs('utc_timestamp(6)')} as now from ${tables.scope} where id = ${scope}`,
        ],
      }
    },

    readAudit({ key, by, decision, since, until, after, limit }: AuditPageOf): Script<AuditRow> {
      const columns = `id, ${epochMs('at')} as at, ${inHex('`key`')} as k, decision, ${inHex('by_whom')} as by_whom,
    ${inHex('reason')} as reason, ${inHex('`before`')} as previous`
      const wanted = [
        `scope = ${scope}`,
        ...(key === undefined ? [] : [`\`key\` = ${bytes(key)}`]),
        ...(after === undefined ? [] : [`id < ${after}`]),
        ...(by === undefined ? [] : [`cast(by_whom as binary) = ${ascii(by)}`]),
        ...(decision === undefined ? [] : [`cast(decision as binary) = ${ascii(decision)}`]),
        ...(since === undefined ? [] : [`${epochMs('at')} >= ${Math.ceil(since)}`]),
        ...(until === undefined ? [] : [`${epochMs('at')} < ${Math.ceil(until)}`]),
      ]
      return {
        statements: [
          `select ${columns} from ${tables.audit} where ${wanted.join(' and ')} order by id desc limit ${limit}`,
        ],
        read: ({ k, previous, ...row }: Omit<AuditRow, 'key' | 'before'> & Record<'k' | 'previous', string>) => {
          return {
            ...row,
            key: k,
            by_whom: fromHex(row.by_whom),
            reason: fromHex(row.reason),
            before: fromHex(previous),
          }
        },
      }
    },

    writeNote({ what, about, by, reason }: Note): Script {
      const values = [text(what), text(by), text(reason), text(notedAbout(about))].join(', ')
      return {
        statements: [
          `insert into ${tables.audit} (at, scope, \`key\`, decision, by_whom, reason, \`before\`)
values (utc_timestamp(6), ${scope}, ${bytes(NO_KEY)}, ${values})`,
        ],
      }
    },

    /** Assignments run from left to right: the last one sees the new owner. */
    takeReplay(id: string, { owner, ttlMs, state }: Taking): Script<ReplayRow> {
      const values = `${scope}, ${ascii(id)}, ${ascii(owner)}, ${fromNow(ttlMs)}, utc_timestamp(6), utc_timestamp(6), ${text(state)}`
      const isFree = `owner is null or held_until <= utc_timestamp(6)`
      return {
        statements: [
          `insert into ${tables.replay} (scope, id, owner, held_until, created_at, saved_at, state) values (${values})
on duplicate key update request = if((${isFree}) and not owner <=> values(owner), nullif(request, 'pause'), request),
    owner = if(${isFree}, values(owner), owner), held_until = if(owner = values(owner), values(held_until), held_until)`,
          select(id),
        ],
        read: readReplay,
      }
    },

    /** A hold that has ended is not lost until somebody else takes it. */
    saveReplay(id: string, { owner, ttlMs, state }: Taking): Script<Pick<ReplayRow, 'request'>> {
      const isOwned = `${isReplay(id)} and owner = ${ascii(owner)}`
      return {
        statements: [
          `update ${tables.replay} set state = ${text(state)}, saved_at = utc_timestamp(6), held_until = ${fromNow(ttlMs)} where ${isOwned}`,
          `select request from ${tables.replay} where ${isOwned}`,
        ],
      }
    },

    leaveReplay(id: string, owner: string): Script {
      const isOwned = `${isReplay(id)} and owner = ${ascii(owner)}`
      return { statements: [`update ${tables.replay} set owner = null, held_until = null where ${isOwned}`] }
    },

    askReplay(id: string, request: ReplayRequest | undefined): Script {
      const asked = request === undefined ? 'null' : `'${request}'`
      return {
        statements: [
          `update ${tables.replay} set request = ${asked} where ${isReplay(id)}`,
          `select 1 from ${tables.replay} where ${isReplay(id)}`,
        ],
      }
    },

    readReplay(id: string): Script<ReplayRow> {
      return { statements: [select(id)], read: readReplay }
    },

    listReplays(limit: number): Script<ReplayRow> {
      return {
        statements: [
          // Without `r`, it would sort by the column of the answer, which is rounded to milliseconds.
          `select ${REPLAY} from ${tables.replay} r where scope = ${scope} order by r.created_at desc, r.id limit ${limit}`,
        ],
        read: readReplay,
      }
    },
  }
}

function readReplay(row: ReplayRow): ReplayRow {
  return {
    ...row,
    id: fromHex(row.id),
    state: fromHex(row.state),
    owner: row.owner === null ? null : fromHex(row.owner),
  }
}
