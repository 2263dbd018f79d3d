import { copyNumber } from '../copies/values.ts'
import { COPY_HEADER } from '../copies/vocabulary.ts'
import type { Key, RecordView } from '../core/record.ts'
import { bucketOf, type Bucket, type ReplayRules } from '../core/replay.ts'
import { isOutage } from '../foundation/outage.ts'
import { isThenable } from '../foundation/thenable.ts'
import { createIdReader, type DecodedPayload } from '../pipeline/intake/identify.ts'
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
  readonly #idOf: ReturnType<typeof createIdReader>
  readonly #readsPayloads: boolean

  /**
   * @param keys - only messages with these keys
   * @param how - `payloads`: whoever gets a message reads its payload
   */
  constructor(
    of: ReplayedConsumer,
    selection: Selection,
    keys?: readonly Key[],
    how: { readonly payloads?: boolean } = {},
  ) {
    this.#readsPayloads = how.payloads === true || selection.ids !== undefined || (selection.where ?? []).length > 0
    this.#idOf = createIdReader(of.definition)
    this.#of = of
    this.#selection = selection
    this.#conditions = (selection.where ?? []).map(parseCondition).filter((one) => typeof one !== 'string')
    this.#keys = keys === undefined ? undefined : new Set(keys)
    this.#ids = selection.ids === undefined ? undefined : new Set(selection.ids)
  }

  /** @throws the decoder's error if a server that it needs does not answer now: nothing is known of the message */
  async look(items: readonly ReplayItem[]): Promise<readonly Looked[]> {
    const keys = await Promise.all(items.map(async ({ message }) => this.#of.keyOf(message)))
    const isInRange = items.map((item, at) => this.#isInRange(item, keys[at]))
    const payloads = await this.#payloadsOf(items, isInRange)
    const wanted = items.map(
      (item, at) => isInRange[at] === true && this.#isSelected(item, keys[at], payloads[at] ?? UNREADABLE),
    )
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
        payload: () => payloads[index]?.payload,
      }
    })
  }

  /** Only if somebody reads them. */
  async #payloadsOf(items: readonly ReplayItem[], isInRange: readonly boolean[]): Promise<readonly DecodedPayload[]> {
    if (!this.#readsPayloads) return []
    return Promise.all(items.map(async (item, at) => (isInRange[at] === true ? payloadOf(this.#of, item) : UNREADABLE)))
  }

  #isInRange(item: ReplayItem, key: unknown): boolean {
    const { since, until, reasons } = this.#selection
    const { deadLetter } = item
    const at = deadLetter?.since ?? item.timestamp
    if (since !== undefined && at !== undefined && at < since) return false
    if (until !== undefined && at !== undefined && at >= until) return false
    if (this.#keys !== undefined && !(typeof key === 'string' && this.#keys.has(key))) return false
    return reasons === undefined || reasons.includes(deadLetter?.reason ?? '')
  }

  #isSelected({ message }: ReplayItem, key: unknown, payload: DecodedPayload): boolean {
    if (this.#ids !== undefined) {
      const id = typeof key === 'string' ? this.#idOf(message, payload) : undefined
      if (id === undefined || !this.#ids.has(id)) return false
    }
    return this.#conditions.every((condition) => condition.holds(message, () => payload.payload))
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

/** If it cannot be decoded, no condition on a field of it holds, except one that it differs. */
const UNREADABLE: DecodedPayload = { payload: undefined }

function payloadOf(
  { definition }: ReplayedConsumer,
  { message }: ReplayItem,
): DecodedPayload | Promise<DecodedPayload> {
  try {
    const payload = definition.decode(message.value, message)
    return isThenable(payload)
      ? Promise.resolve(payload).then((decoded) => ({ payload: decoded }), unreadable)
      : { payload }
  } catch (error) {
    return unreadable(error)
  }
}

/** @throws the error, if it says nothing about the payload */
function unreadable(error: unknown): DecodedPayload {
  if (isOutage(error)) throw error
  return UNREADABLE
}
