import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { scopeName } from '../consumer/scope.ts'
import { ConfigError } from '../foundation/errors.ts'
import type { AuditEntry } from '../ports/replay.ts'
import type { AuditPage, AuditQuery } from '../ports/store-admin.ts'
import { ofRead } from './of-read.ts'

/** Where the decisions about one consumer are. */
export interface AuditSource {
  /** Tells consumers apart: `group/name`. */
  readonly consumer: string
  audit(query: AuditQuery): Promise<AuditPage>
}

/** A decision, and about which consumer it was. */
type AuditOf<S extends AuditSource> = AuditEntry & { readonly source: S }

export interface AuditOfAll<S extends AuditSource> {
  /** The newest first. */
  readonly entries: readonly AuditOf<S>[]
  /** For `after` of the next page, with the same sources and the same query. */
  readonly next: string | undefined
  /** Those that did not answer: what they have is not in the page. */
  readonly failed: readonly { readonly source: S; readonly error: unknown }[]
}

/** `undefined`: its store shows no audit. */
export function auditSourceOf(consumer: Consumer, group: string, name: string): AuditSource | undefined {
  const definition = definitionOf(consumer)
  const { admin } = definition.store
  if (admin?.audit === undefined) return undefined
  const scope = scopeName(definition, group)
  const ask = admin.audit.bind(admin)
  return { consumer: name, audit: (query) => ofRead(ask(scope, query), admin) }
}

/**
 * The decisions about several consumers as one list. Pages of one source keep its order, also where two processes have clocks that differ.
 *
 * @throws ConfigError `CONFIG_INVALID` for an `after` that is not `next` of a page of the same sources
 */
export async function auditOfAll<S extends AuditSource>(
  sources: readonly S[],
  { after, ...query }: AuditQuery,
): Promise<AuditOfAll<S>> {
  const place = placeFrom(after, sources.length)
  const asked = await Promise.allSettled(
    sources.map((source, at) => source.audit({ ...query, ...limitsOf(place, at, query.until) })),
  )
  const found = asked.map((one, at) => ({ at, entries: one.status === 'fulfilled' ? [...one.value.entries] : [] }))
  const entries: AuditOf<S>[] = []
  const ids = [...place.ids]
  while (entries.length < query.limit) {
    const [newest] = found.filter((one) => one.entries.length > 0).toSorted((a, b) => headOf(b) - headOf(a))
    const [entry, source] = [newest?.entries.shift(), sources[newest?.at ?? -1]]
    if (newest === undefined || entry === undefined || source === undefined) break
    entries.push({ ...entry, source })
    ids[newest.at] = entry.id
  }
  const isMore =
    found.some((one) => one.entries.length > 0) ||
    asked.some((one) => one.status === 'fulfilled' && one.value.next !== undefined)
  const failed = sources.flatMap((source, at) => {
    const one = asked[at]
    return one?.status === 'rejected' ? [{ source, error: one.reason as unknown }] : []
  })
  const last = entries.at(-1)
  return { entries, next: isMore && last !== undefined ? textOf({ at: last.at, ids }) : undefined, failed }
}

interface Place {
  /** When the last entry of the page was written. */
  readonly at: number | undefined
  /** The last entry that was shown of each source. */
  readonly ids: readonly (string | undefined)[]
}

/** What came since the first page to a source that had nothing to show is not on a later page. */
function limitsOf({ at, ids }: Place, source: number, until: number | undefined): Pick<AuditQuery, 'after' | 'until'> {
  const id = ids[source]
  if (id !== undefined || at === undefined) return { after: id, until }
  return { after: undefined, until: Math.min(at + 1, until ?? Infinity) }
}

function headOf({ entries: [head] }: { readonly entries: readonly AuditEntry[] }): number {
  return head?.at ?? 0
}

function textOf({ at, ids }: Place): string {
  return JSON.stringify([at, ...ids.map((id) => id ?? '')])
}

function placeFrom(after: string | undefined, sources: number): Place {
  if (after === undefined) return { at: undefined, ids: Array.from({ length: sources }) }
  const [at, ...ids] = listIn(after)
  if (typeof at !== 'number' || ids.length !== sources || ids.some((id) => typeof id !== 'string')) {
    throw new ConfigError(['after: expected `next` of the page before, of the same consumers'])
  }
  return { at, ids: ids.map((id) => (id === '' ? undefined : String(id))) }
}

function listIn(text: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : []
  } catch {
    return []
  }
}
