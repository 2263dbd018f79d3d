import {
  EachOnce,
  StoreError,
  type AuditPage,
  type AuditQuery,
  type KnownSince,
  type ReplayLedger,
  type DecideVerdict,
  type Decision,
  type Key,
  type ListedState,
  type ListQuery,
  type Note,
  type Purged,
  type RecordPage,
  type RecordView,
  type Resolution,
  type StoreAdmin,
  type Why,
} from '../../../src/internal.ts'
import { auditPage } from './audit.ts'
import { KEYS_PER_SCRIPT } from '../calls/batches.ts'
import type { KeyNames } from '../records/key-names.ts'
import { knownSince, noteUse, type Scopes } from './known-since.ts'
import { tagOf } from '../records/owners.ts'
import { readLook } from '../records/records.ts'
import type { RedisNode, RedisPort } from '../clients/redis-port.ts'
import { readDecide } from '../calls/replies.ts'
import { Refusals } from './refusals.ts'
import { RedisReplays } from './replays.ts'
import { runScript } from '../calls/run-script.ts'
import type { ScriptLine } from '../calls/script-line.ts'
import { WRITE_NOTE } from '../scripts/audit.ts'
import { DECIDE } from '../scripts/decide.ts'
import { LOOK, NAMES } from '../scripts/look.ts'
import { wholeMs } from '../records/whole-ms.ts'

/** First characters of the values in each state. */
const LETTERS: { readonly [S in ListedState]: string } = {
  processing: 'P',
  'in-doubt': 'PR',
  'given-up': 'G',
  parked: 'X',
  done: 'dD',
}

/** In a cluster, notes of all scopes are in one stream. */
const NOTES_SHARD = 0

/** The most keys that one SCAN visits. */
const SCANNED_AT_ONCE = 1_000

/**
 * Where a list goes on. A SCAN is never repeated from the same cursor: it may then return other keys, because the table
 * has grown or shrunk, and a position among them would skip some.
 */
interface Place {
  readonly node: string
  /** `undefined`: the node is over, and only `found` is left of it. */
  readonly cursor: string | undefined
  /** Keys that the last SCAN found beyond the page. */
  readonly found: readonly Key[]
}

/**
 * All scopes under the prefix share the keys: records say by a tag of which they are. Decisions are logged to a stream, `prefix:audit`, and imports to another one: they are many.
 */
export class RedisAdmin implements StoreAdmin {
  readonly forgetsByItself = true
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #scopes: Scopes
  readonly replays: ReplayLedger
  readonly #line: ScriptLine
  readonly #shards: number
  readonly #refusals: Refusals

  constructor(redis: RedisPort, names: KeyNames, line: ScriptLine, shards: number) {
    this.#redis = redis
    this.#names = names
    this.#line = line
    this.#shards = shards
    this.#refusals = new Refusals(redis)
    this.#scopes = { redis, names, line, shards }
    this.replays = new RedisReplays(names, line, shards)
  }

  onRefused(listener: (why: string) => void): () => void {
    return this.#refusals.watch(listener)
  }

  async peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return partByPart(keys, (part) => this.#peek(scope, part))
  }

  #peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return this.#line.run({
      ...lookingFor('', keys),
      addKeys: (words, [first]) => {
        if (first === undefined) return
        words.push(this.#names.since(scope, this.#redis.isCluster ? this.#names.shardOf(first.key) : undefined))
      },
      read: (answer, { key }) => {
        const view = readLook(answer, tagOf(scope))
        if (view === 'other' || view?.found === undefined) return view === 'other' ? undefined : view
        return { ...view, found: `${this.#names.of(key)}: ${view.found}` }
      },
    })
  }

  async list(scope: string, { state, limit, lookAtMost = Infinity, after }: ListQuery): Promise<RecordPage> {
    const nodes = (await this.#line.ask(this.#redis.nodes())).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const prefix = await this.#writtenPrefix()
    const once = new EachOnce()
    const records: RecordPage['records'][number][] = []
    let looked = 0
    let place = after === undefined ? startOf(nodes[0]) : placeFrom(after)
    while (place !== undefined && looked < lookAtMost && records.length < limit) {
      const { node: name } = place
      const node = nodes.find((one) => one.name >= name)
      if (node === undefined) return { records, looked, next: undefined }
      const from: Place = node.name === name ? place : { node: node.name, cursor: '0', found: [] }
      const most = Math.min(limit - records.length, lookAtMost - looked)
      if (from.found.length > 0) {
        const keys = from.found.slice(0, most)
        records.push(...once.of(await this.#inState(scope, state, keys)))
        looked += keys.length
        place = this.#after({ ...from, found: from.found.slice(most) }, nodes)
      } else {
        // As many keys as the rest of the page is likely to be found among.
        const likely = ((limit - records.length) * Math.max(looked, 1)) / Math.max(records.length, 1)
        const count = Math.min(SCANNED_AT_ONCE, lookAtMost - looked, Math.ceil(likely))
        const scanned = await this.#scan(node, { cursor: from.cursor ?? '0', count, prefix })
        looked += count
        const found = once.of(await this.#inState(scope, state, [...new Set(scanned.keys)]))
        records.push(...found.slice(0, most))
        const cursor = scanned.next === '0' ? undefined : scanned.next
        place = this.#after({ node: node.name, cursor, found: found.slice(most).map(({ key }) => key) }, nodes)
      }
    }
    return { records, looked, next: place && textOf(place) }
  }

  /** The place itself, or the start of the next node if nothing is left of this one. */
  #after(place: Place, nodes: readonly RedisNode[]): Place | undefined {
    if (place.cursor !== undefined || place.found.length > 0) return place
    return startOf(nodes.find(({ name }) => name > place.node))
  }

  resolve(scope: string, keys: readonly Key[], { as, ...why }: Resolution): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, as, why)
  }

  reopen(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, 'reopen', why)
  }

  forget(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(scope, keys, 'forget', why)
  }

  async import(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    await noteUse(this.#scopes, scope, wholeMs(why.retentionMs))
    return this.#decide(scope, keys, 'import', why)
  }

  knownSince(scope: string): Promise<KnownSince | undefined> {
    return knownSince(this.#scopes, scope)
  }

  /** Imports first: of entries of one millisecond, those of later streams count as newer. */
  audit(scope: string, query: AuditQuery): Promise<AuditPage> {
    const shards = this.#redis.isCluster ? Array.from({ length: this.#shards }, (_, shard) => shard) : [undefined]
    const streams = (['imports', 'decisions'] as const).flatMap((kind) =>
      shards.map((shard) => this.#names.audit(kind, shard)),
    )
    return auditPage(this.#line, { scope, streams }, query)
  }

  async note(scope: string, { what, about, by, reason }: Note): Promise<void> {
    const name = this.#names.audit('decisions', this.#redis.isCluster ? NOTES_SHARD : undefined)
    await this.#line.runOne({ script: WRITE_NOTE, keys: 1, words: [name, scope, what, about, by, reason] }, NOTES_SHARD)
  }

  /** Redis expires records on its own, and parked records wait for a person. */
  async purge(): Promise<Purged> {
    return { removed: 0, more: false }
  }

  #decide(
    scope: string,
    keys: readonly Key[],
    decision: Decision,
    { by, reason, retentionMs }: Why,
  ): Promise<readonly DecideVerdict[]> {
    return this.#line.run({
      script: DECIDE,
      items: keys.map((key) => ({ key })),
      addKeys: (words, part) => {
        const kind = decision === 'import' ? 'imports' : 'decisions'
        for (const { key } of part) {
          words.push(this.#names.audit(kind, this.#redis.isCluster ? this.#names.shardOf(key) : undefined))
        }
      },
      argumentsOf: () => [decision, wholeMs(retentionMs), by, reason, scope, tagOf(scope)],
      read: readDecide,
      durable: true,
    })
  }

  async #inState(scope: string, state: ListedState, keys: readonly Key[]): Promise<RecordPage['records']> {
    const views = await partByPart(keys, (part) =>
      this.#line.run({
        ...lookingFor(LETTERS[state], part),
        // A value that another program has written is not a record.
        read: (answer) => readLook(answer, tagOf(scope)) ?? 'other',
      }),
    )
    return views.flatMap((view, at) => {
      const key = keys[at]
      return view === 'other' || view.state !== state || key === undefined ? [] : [{ key, ...view }]
    })
  }

  async #scan(
    node: RedisNode,
    { cursor, count, prefix }: { readonly cursor: string; readonly count: number; readonly prefix: string },
  ): Promise<{ readonly next: string; readonly keys: readonly Key[] }> {
    const pattern = `${globOf(prefix)}{*}:*`
    const words = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(count)]
    const [next, names] = await this.#line.ask(node.command(words).then(listOf))
    if (!Array.isArray(names)) throw new StoreError('STORE_AMBIGUOUS', 'Redis: SCAN answered no list of keys')
    return { next: String(next), keys: names.map((name) => keyIn(String(name), prefix)) }
  }

  /** The text before the braces of a record's name on the server, including a prefix that the client adds. */
  async #writtenPrefix(): Promise<string> {
    const name = this.#names.of('')
    const asked = runScript(this.#redis, { script: NAMES, keys: 1, words: [name] })
    const [written] = await this.#line.ask(asked.then(listOf))
    const own = name.slice(0, name.indexOf('{'))
    return String(written).slice(0, String(written).lastIndexOf(name)) + own
  }
}

/**
 * One part after the other: the answers about all keys at once would be read in one turn of the event loop, and consumers
 * of this process would wait.
 */
async function partByPart<T>(
  keys: readonly Key[],
  ask: (part: readonly Key[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const views: T[] = []
  for (let at = 0; at < keys.length; at += KEYS_PER_SCRIPT) {
    views.push(...(await ask(keys.slice(at, at + KEYS_PER_SCRIPT))))
  }
  return views
}

function lookingFor(deadLetters: string, keys: readonly Key[]) {
  return {
    script: LOOK,
    items: keys.map((key) => ({ key })),
    argumentsOf: (part: readonly unknown[]) => [deadLetters, part.length],
  }
}

function startOf(node: RedisNode | undefined): Place | undefined {
  return node && { node: node.name, cursor: '0', found: [] }
}

function textOf({ node, cursor = '', found }: Place): string {
  return `${cursor}|${found.join(',')}|${node}`
}

function placeFrom(text: string): Place {
  const [, cursor, found, node] = /^(\d*)\|([\w,-]*)\|(.*)$/s.exec(text) ?? []
  if (cursor === undefined || found === undefined || node === undefined) {
    throw new StoreError('STORE_MISUSED', `after: expected \`next\` of the page before, got '${text}'`)
  }
  return { node, cursor: cursor === '' ? undefined : cursor, found: found.split(',').filter(Boolean) }
}

function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : []
}

/** The part after `prefix{shard}:`. */
function keyIn(name: string, prefix: string): Key {
  return name.slice(name.indexOf('}:', prefix.length) + 2)
}

function globOf(text: string): string {
  return text.replaceAll(/[*?[\]\\^]/g, String.raw`\$&`)
}
