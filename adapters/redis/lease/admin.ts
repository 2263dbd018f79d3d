import {
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
  type Purged,
  type RecordPage,
  type RecordView,
  type Resolution,
  type StoreAdmin,
  type Why,
} from '../../../src/spi.ts'
import { auditPage } from './audit.ts'
import type { KeyNames } from './key-names.ts'
import { knownSince, noteUse, type Scopes } from './known-since.ts'
import { readLook } from './records.ts'
import type { RedisNode, RedisPort } from './redis-port.ts'
import { readDecide } from './replies.ts'
import { RedisReplays } from './replays.ts'
import { runScript } from './run-script.ts'
import type { ScriptLine } from './script-line.ts'
import { DECIDE } from './scripts/decide.ts'
import { LOOK, NAMES } from './scripts/look.ts'
import { wholeMs } from './whole-ms.ts'

/** First characters of the values in each state. */
const LETTERS: { readonly [S in ListedState]: string } = {
  processing: 'P',
  'in-doubt': 'PR',
  'given-up': 'G',
  parked: 'X',
  done: 'dD',
}

/** Keys that one SCAN visits. */
const SCANNED_AT_ONCE = 1_000

/** Cursor of a list. */
interface Place {
  readonly node: string
  readonly cursor: string
  /** The last key that was shown of the cursor's keys; empty if none was shown yet. */
  readonly key: string
}

/** Looks at the records of all scopes under the prefix. Decisions are logged to a stream, `prefix:audit`, and imports to another one: they are many. */
export class RedisAdmin implements StoreAdmin {
  readonly forgetsByItself = true
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #scopes: Scopes
  readonly replays: ReplayLedger
  readonly #line: ScriptLine
  readonly #shards: number

  constructor(redis: RedisPort, names: KeyNames, line: ScriptLine, shards: number) {
    this.#redis = redis
    this.#names = names
    this.#line = line
    this.#shards = shards
    this.#scopes = { redis, names, line, shards }
    this.replays = new RedisReplays(names, line, shards)
  }

  async peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]> {
    return this.#line.run({
      ...lookingFor('', keys),
      addKeys: (words, [first]) => {
        if (first === undefined) return
        words.push(this.#names.since(scope, this.#redis.isCluster ? this.#names.shardOf(first.key) : undefined))
      },
      read: (answer, { key }) => {
        const view = readLook(answer)
        if (view === 'other' || view?.found === undefined) return view === 'other' ? undefined : view
        return { ...view, found: `${this.#names.of(key)}: ${view.found}` }
      },
    })
  }

  async list(_scope: string, { state, limit, after }: ListQuery): Promise<RecordPage> {
    const nodes = (await this.#line.ask(this.#redis.nodes())).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const prefix = await this.#writtenPrefix()
    const records: RecordPage['records'][number][] = []
    let place = after === undefined ? startOf(nodes[0]) : placeFrom(after)
    while (place !== undefined) {
      const { node: name, cursor, key: last } = place
      const node = nodes.find((one) => one.name >= name)
      if (node === undefined) break
      const scanned = await this.#scan(node, node.name === name ? cursor : '0', prefix)
      // Sorted, so that the last key shown marks the position.
      const keys = [...new Set(scanned.keys)].toSorted().filter((key) => key > last)
      const found = await this.#inState(state, keys)
      const shown = found.slice(0, limit - records.length)
      records.push(...shown)
      if (shown.length < found.length) return { records, next: textOf({ ...place, key: shown.at(-1)?.key ?? last }) }
      const isOver = scanned.next === '0'
      place = isOver ? startOf(nodes[nodes.indexOf(node) + 1]) : { node: node.name, cursor: scanned.next, key: '' }
      if (records.length === limit) break
    }
    return { records, next: place && textOf(place) }
  }

  resolve(_scope: string, keys: readonly Key[], { as, ...why }: Resolution): Promise<readonly DecideVerdict[]> {
    return this.#decide(keys, as, why)
  }

  reopen(_scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(keys, 'reopen', why)
  }

  forget(_scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    return this.#decide(keys, 'forget', why)
  }

  async import(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]> {
    await noteUse(this.#scopes, scope, wholeMs(why.retentionMs))
    return this.#decide(keys, 'import', why)
  }

  knownSince(scope: string): Promise<KnownSince | undefined> {
    return knownSince(this.#scopes, scope)
  }

  /** Imports first: of entries of one millisecond, those of later streams count as newer. */
  audit(_scope: string, query: AuditQuery): Promise<AuditPage> {
    const shards = this.#redis.isCluster ? Array.from({ length: this.#shards }, (_, shard) => shard) : [undefined]
    const streams = (['imports', 'decisions'] as const).flatMap((kind) =>
      shards.map((shard) => this.#names.audit(kind, shard)),
    )
    return auditPage(this.#line, streams, query)
  }

  /** Redis expires records on its own, and parked records wait for a person. */
  async purge(): Promise<Purged> {
    return { removed: 0, more: false }
  }

  #decide(
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
      argumentsOf: () => [decision, wholeMs(retentionMs), by, reason],
      read: readDecide,
      durable: true,
    })
  }

  async #inState(state: ListedState, keys: readonly Key[]): Promise<RecordPage['records']> {
    const views = await this.#line.run({
      ...lookingFor(LETTERS[state], keys),
      // A value that another program has written is not a record.
      read: (answer) => readLook(answer) ?? 'other',
    })
    return views.flatMap((view, at) => {
      const key = keys[at]
      return view === 'other' || view.state !== state || key === undefined ? [] : [{ key, ...view }]
    })
  }

  async #scan(
    node: RedisNode,
    cursor: string,
    prefix: string,
  ): Promise<{ readonly next: string; readonly keys: readonly Key[] }> {
    const pattern = `${globOf(prefix)}{*}:*`
    const words = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(SCANNED_AT_ONCE)]
    const [next, names] = await this.#line.ask(node.command(words).then(listOf))
    if (!Array.isArray(names)) throw new StoreError('STORE_AMBIGUOUS', 'Redis: SCAN answered no list of keys')
    return { next: String(next), keys: names.map((name) => keyIn(String(name), prefix)) }
  }

  /** The text before the braces of a record's name on the server, including a prefix that the client adds. */
  async #writtenPrefix(): Promise<string> {
    const name = this.#names.of('')
    const [written]: readonly unknown[] = (await runScript(this.#redis, {
      script: NAMES,
      keys: 1,
      words: [name],
    })) as []
    const own = name.slice(0, name.indexOf('{'))
    return String(written).slice(0, String(written).lastIndexOf(name)) + own
  }
}

function lookingFor(letters: string, keys: readonly Key[]) {
  return {
    script: LOOK,
    items: keys.map((key) => ({ key })),
    argumentsOf: (part: readonly unknown[]) => [letters, part.length],
  }
}

function startOf(node: RedisNode | undefined): Place | undefined {
  return node && { node: node.name, cursor: '0', key: '' }
}

function textOf({ node, cursor, key }: Place): string {
  return `${cursor}|${key}|${node}`
}

function placeFrom(text: string): Place {
  const [, cursor, key, node] = /^(\d+)\|([^|]*)\|(.*)$/s.exec(text) ?? []
  if (cursor === undefined || key === undefined || node === undefined) {
    throw new StoreError('STORE_MISUSED', `after: expected \`next\` of the page before, got '${text}'`)
  }
  return { node, cursor, key }
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
