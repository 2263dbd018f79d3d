import type { StoredItem } from '../../../sql/bytes.ts'
import type { Counted, HeldBack } from '../../../sql/inbox/statements.ts'
import { areRowsOf, bytes, fromNow, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { endedBy, failedElsewhere, withdrawKeys, type TriedRow } from './claims.ts'

/**
 * `last_at` of a key that a person has let run: neither a purge nor a refund removes it until it is marked or set
 * aside.
 */
const FOR_EVER = 'infinity'

const FIRST: Counted = { attempt: 1, isKnown: false }

/**
 * The attempts of a claim's keys, this one included. Not counted are, except alone, keys with an earlier attempt: they may
 * have killed a process. Nor is a key whose backoff is not over, or that was tried with another payload.
 */
export class Counts {
  readonly size: number
  readonly #others = new Map<string, Counted | undefined>()

  constructor(items: readonly StoredItem[], tried: readonly TriedRow[], alone: boolean) {
    this.size = items.length
    if (tried.length === 0) return
    const fps = new Map(items.map(({ key, fp }) => [key, fp]))
    for (const row of tried) this.#others.set(row.key, countedOf(row, fps.get(row.key) ?? null, alone))
    for (const one of this.#others.values()) if (one === undefined) this.size--
  }

  /** `key` in hex; `undefined`: not counted. Must be asked only about keys of the claim. */
  of(key: string): Counted | undefined {
    return this.#others.size > 0 && this.#others.has(key) ? this.#others.get(key) : FIRST
  }
}

function countedOf(row: TriedRow, fp: string | null, alone: boolean): Counted | undefined {
  if (row.n > 0 && !alone) return undefined // mutant: pg-suspect-in-company
  // mutant: pg-backoff-of-one-copy
  if (row.wait_ms > 0 || (row.fp !== null && fp !== null && row.fp !== fp)) return undefined
  return { attempt: row.n + 1, isKnown: row.is_known }
}

/**
 * Writes how often failed messages were tried, the end of the backoff and the cause, and takes them out of the claim that
 * has counted this attempt. Only of keys that are still in it and, afterwards, in no other. It uses the current
 * time of the server, because the transaction began before its handlers. What a handler has committed by itself stays torn.
 */
export function holdBack(
  tables: Tables,
  scope: number,
  { items, token, keepMs, delayMs, cause }: HeldBack,
  when: 'in-transaction' | 'afterwards',
): Script {
  const { attempt, claim } = tables
  const until = delayMs > 0 ? `clock_timestamp() + ${Math.ceil(delayMs)} * interval '1 ms'` : 'null'
  const rows = items.map(
    ({ key, fp, attempt: n }) => `(${bytes(key)}, ${n}, ${fp === null ? 'null::bytea' : bytes(fp)})`,
  )
  // While this transaction holds the keys, no other claim can have started them. Afterwards one may have, if it has counted
  // them and no torn record keeps it out: then that one tells what has failed.
  const isLast =
    when === 'in-transaction'
      ? 'true'
      : `(c.phase = 'h' or not exists (select from ${claim} o where o.scope = ${scope} and x.key = any (o.keys) and o.token <> c.token))` // mutant: pg-held-back-by-anyone
  const failed = `(select array_agg(key) from failed)::bytea[]`
  const ended = endedBy(tables, { scope, token, keys: failed }, when)
  return {
    text: `savepoint claims_of_consume_once;
with failed as materialized (
  select x.* from (values ${rows.join(', ')}) as x (key, n, fp)
  join ${claim} c on c.scope = ${scope} and c.token = ${text(token)} and x.key = any (c.keys) where ${isLast}
), written as (
  insert into ${attempt} as a (scope, key, owner, n, fp, not_before, cause, keep_until)
  select ${scope}, key, ${text(token)}, n, fp, ${until}, ${cause === undefined ? 'null' : text(cause)}, ${fromNow(keepMs)} from failed order by 2
  on conflict (scope, key) do update set owner = excluded.owner, n = excluded.n, fp = excluded.fp, not_before = excluded.not_before,
    cause = excluded.cause, last_at = greatest(a.last_at, now()), keep_until = greatest(a.keep_until, excluded.keep_until)
  where a.n < excluded.n or a.owner = excluded.owner
), withdrawn as (${failedElsewhere(tables, scope, token, failed)})
${ended} and exists (select from failed);
delete from ${claim} where scope = ${scope} and token = ${text(token)} and keys = '{}'`,
  }
}

/**
 * Removes the attempts of keys that end, in a transaction that holds their rows of the inbox. A claim may be counting one
 * that a person has let run before.
 */
export function forgetAttempts(tables: Tables, scope: number, keys: readonly string[]): Script {
  return {
    text: `delete from ${tables.attempt} where ${areRowsOf(tables.attempt, scope, keys)};\n${withdrawKeys(tables, scope, keys).text}`,
  }
}

/** Claims that wait for the same keys count anew. */
export function letRun(tables: Tables, scope: number, keys: readonly string[]): Script {
  return {
    text: `${withdrawKeys(tables, scope, keys).text};
insert into ${tables.attempt} (scope, key, owner, n, last_at)
select ${scope}, decode(x, 'hex'), '', 0, '${FOR_EVER}' from unnest('{${keys.join(',')}}'::text[]) as x order by 2
on conflict (scope, key) do update set owner = '', n = 0, last_at = '${FOR_EVER}',
  fp = null, not_before = null, cause = null`,
  }
}
