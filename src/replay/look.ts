import { copyNumber } from '../copies/values.ts'
import { COPY_HEADER } from '../copies/vocabulary.ts'
import type { Key, RecordView } from '../core/record.ts'
import { bucketOf, type Bucket, type ReplayRules } from '../core/replay.ts'
import { createIdReader } from '../pipeline/intake/identify.ts'
import type { Message } from '../ports/message.ts'
import type { ReplayItem } from '../ports/replay.ts'
import { parseCondition, type Condition } from './expression.ts'
import type { ReplayedConsumer } from './place.ts'
import type { Selection } from './plan.ts'

/** A message of the range, with what its consumer and the store know about it. */
export interface Looked {
  readonly item: ReplayItem
  readonly key: Key | undefined
  readonly view: RecordView | 'no-id' | 'unreadable'
  readonly replays: number
  readonly bucket: (isProven: boolean, rules: Pick<ReplayRules, 'maxReplays'>) => Bucket
  /** Why it is in its bucket. */
  readonly detail: string | undefined
  readonly payload: () => unknown
}

/** Looks messages up in the store, many at once. Changes nothing. */
export class Lookup {
  readonly #of: ReplayedConsumer
  readonly #conditions: readonly Condition[]
  readonly #ids: ReadonlySet<string> | undefined
  readonly #keys: ReadonlySet<Key> | undefined
  readonly #selection: Selection
  readonly #idOf: (message: Message) => string | undefined

  /** @param keys - only messages with these keys */
  constructor(of: ReplayedConsumer, selection: Selection, keys?: readonly Key[]) {
    this.#idOf = createIdReader(of.definition)
    this.#of = of
    this.#selection = selection
    this.#conditions = (selection.where ?? []).map(parseCondition).filter((one) => typeof one !== 'string')
    this.#keys = keys === undefined ? undefined : new Set(keys)
    this.#ids = selection.ids === undefined ? undefined : new Set(selection.ids)
  }

  async look(items: readonly ReplayItem[]): Promise<readonly Looked[]> {
    const keys = items.map(({ message }) => this.#of.keyOf(message))
    const wanted = items.map((item, at) => this.#isSelected(item, keys[at]))
    const asked = keys.filter((key, at): key is Key => typeof key === 'string' && wanted[at] === true)
    const views = asked.length === 0 ? [] : await this.#of.admin.peek(this.#of.scope, asked)
    let at = 0
    return items.map((item, index): Looked => {
      const key = keys[index]
      const isSelected = wanted[index] === true
      const known = typeof key === 'string' ? key : undefined
      const replays = replaysOf(item)
      const view = viewFor(key, isSelected && known !== undefined ? views[at++] : undefined)
      const digest = known === undefined || !isSelected ? '' : this.#of.digestOf(item.message)
      return {
        item,
        key: known,
        view,
        replays,
        bucket: (isProven, rules) => bucketOf({ view, digest, isSelected, isProven, replays }, rules),
        detail: typeof key === 'object' ? key.detail : detailOf(view),
        payload: () => payloadOf(this.#of, item),
      }
    })
  }

  #isSelected(item: ReplayItem, key: unknown): boolean {
    const { since, until, reasons } = this.#selection
    const { deadLetter, message } = item
    const at = deadLetter?.since ?? item.timestamp
    if (since !== undefined && at !== undefined && at < since) return false
    if (until !== undefined && at !== undefined && at >= until) return false
    if (this.#keys !== undefined && !(typeof key === 'string' && this.#keys.has(key))) return false
    if (reasons !== undefined && !reasons.includes(deadLetter?.reason ?? '')) return false
    if (this.#ids !== undefined) {
      const id = typeof key === 'string' ? this.#idOf(message) : undefined
      if (id === undefined || !this.#ids.has(id)) return false
    }
    return this.#conditions.every((condition) => condition.holds(message, () => payloadOf(this.#of, item)))
  }
}

function viewFor(key: unknown, view: RecordView | undefined): Looked['view'] {
  if (typeof key === 'string') return view ?? { state: 'absent' }
  return (key as { readonly reason?: string } | undefined)?.reason === 'no-id' ? 'no-id' : 'unreadable'
}

function detailOf(view: Looked['view']): string | undefined {
  if (typeof view !== 'object') return undefined
  return view.reason ?? view.cause ?? view.found
}

/** How often the message was replayed before, by its header. */
function replaysOf({ message: { headers } }: ReplayItem): number {
  return copyNumber(headers, COPY_HEADER.replayCount) ?? 0
}

/** `undefined` if it cannot be decoded: then no condition on a field of it holds, except one that it differs. */
function payloadOf({ definition }: ReplayedConsumer, { message }: ReplayItem): unknown {
  try {
    return definition.decode(message.value, message)
  } catch {
    return undefined
  }
}
