import { StoreError, isAskedFor, type AuditEntry, type AuditPage, type AuditQuery } from '../../../src/internal.ts'
import type { ScriptLine } from '../calls/script-line.ts'
import { READ_AUDIT } from '../scripts/audit.ts'

/** Entries that one script reads. */
const READ_AT_ONCE = 500

/** Place of an entry: the ID in its stream, which tells milliseconds and microseconds, and the number of that. */
interface Place {
  readonly ms: bigint
  readonly seq: bigint
  readonly stream: number
}

interface Placed {
  readonly entry: AuditEntry
  readonly scope: string
  readonly place: Place
}

/** Reads one page, the newest first, from streams that are each in order. */
export async function auditPage(
  line: ScriptLine,
  { scope, streams }: { readonly scope: string; readonly streams: readonly string[] },
  query: AuditQuery,
): Promise<AuditPage> {
  const { limit, after } = query
  const from = after === undefined ? undefined : placeFrom(after)
  const found = await Promise.all(
    streams.map((name, stream) => older(line, { name, scope, stream, from, query, most: limit + 1 })),
  )
  const all = found.flat().toSorted((one, other) => (isBefore(one.place, other.place) ? 1 : -1))
  const entries = all.slice(0, limit).map(({ entry }) => entry)
  return { entries, next: all.length > limit ? entries.at(-1)?.id : undefined }
}

interface Search {
  readonly name: string
  readonly scope: string
  readonly stream: number
  readonly from: Place | undefined
  readonly query: AuditQuery
  readonly most: number
}

async function older(line: ScriptLine, { name, scope, stream, from, query, most }: Search): Promise<readonly Placed[]> {
  const found: Placed[] = []
  let start = from === undefined ? '+' : startOf(stream, from)
  for (;;) {
    const reply = await line.runOne({ script: READ_AUDIT, keys: 1, words: [name, start, READ_AT_ONCE] })
    const entries = (Array.isArray(reply) ? reply : []).map((fields: unknown) => entryOf(fields, stream))
    const isWanted = ({ entry, scope: own }: Placed): boolean => own === scope && isAskedFor(entry, query)
    found.push(...entries.filter(isWanted))
    const last = entries.at(-1)
    if (found.length >= most || last === undefined || entries.length < READ_AT_ONCE) return found.slice(0, most)
    start = beforeOf(last.place)
  }
}

/** States by the first character of a value. Of what is processed or released, people decide what is in doubt. */
const STATES: Readonly<Record<string, string>> = {
  '': 'absent',
  d: 'done',
  D: 'done',
  G: 'given-up',
  X: 'parked',
  P: 'in-doubt',
  R: 'in-doubt',
}

function entryOf(reply: unknown, stream: number): Placed {
  const [id = '', ...words] = Array.isArray(reply) ? reply.map(String) : []
  const place = placeFrom(`${id}-${stream}`)
  const fields = new Map(words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1] ?? ''] as const] : [])))
  const field = (name: string): string => fields.get(name) ?? ''
  const [name, record] = [field('key'), field('before')]
  const common = {
    id: `${id}-${stream}`,
    at: Number(place.ms),
    decision: field('decision'),
    by: field('by'),
    reason: field('reason'),
  }
  const scope = field('scope')
  if (fields.has('about')) {
    return { entry: { ...common, key: '', before: '', about: field('about') }, scope, place }
  }
  const entry: AuditEntry = {
    ...common,
    key: name.slice(name.lastIndexOf('}:') + 2),
    before: STATES[record.slice(0, 1)] ?? 'unknown',
    record: record === '' ? undefined : record,
  }
  return { entry, scope, place }
}

function placeFrom(text: string): Place {
  const [, ms, seq, stream] = /^(\d+)-(\d+)-(\d+)$/.exec(text) ?? []
  if (ms === undefined || seq === undefined || stream === undefined) {
    throw new StoreError('STORE_MISUSED', `after: expected \`next\` of the page before, got '${text}'`)
  }
  return { ms: BigInt(ms), seq: BigInt(seq), stream: Number(stream) }
}

function isBefore(one: Place, other: Place): boolean {
  if (one.ms !== other.ms) return one.ms < other.ms
  if (one.seq !== other.seq) return one.seq < other.seq
  return one.stream < other.stream
}

/** The newest ID of a stream whose entry is older than `from`. */
function startOf(stream: number, from: Place): string {
  return stream < from.stream ? `${from.ms}-${from.seq}` : beforeOf(from)
}

const LAST_SEQ = 2n ** 64n - 1n

/** The ID right before that of an entry: Redis before 6.2 has no open ranges. */
function beforeOf({ ms, seq }: Place): string {
  return seq > 0n ? `${ms}-${seq - 1n}` : `${ms > 0n ? ms - 1n : 0n}-${ms > 0n ? LAST_SEQ : 0n}`
}
