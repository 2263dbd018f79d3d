import { copyNumber } from '../copies/values.ts'
import { COPY_HEADER } from '../copies/vocabulary.ts'
import type { Key, RecordView } from '../core/record.ts'
import { bucketOf, type Bucket, type Lack, type ReplayFacts, type ReplayRules } from '../core/replay.ts'
import type { EpochMs } from '../core/units.ts'
import { isOutage } from '../foundation/outage.ts'
import { isThenable } from '../foundation/thenable.ts'
import { createIdReader, type DecodedPayload } from '../pipeline/intake/identify.ts'
import type { ReplayItem } from '../ports/replay.ts'
import { parseCondition, type Condition } from './expression.ts'
import type { ReplayedConsumer } from './place.ts'
import type { IdsFound, Selection } from './plan.ts'
import { usableTime } from './proven.ts'

/** A message of the range, with what its consumer and the store know about it. */
export interface Looked {
  readonly item: ReplayItem
  readonly key: Key | undefined
  /** `not-asked`: a message that was not selected. */
  readonly view: RecordView | 'no-id' | 'unreadable' | 'not-asked'
  readonly replays: number
  /** Whether it is one of those that were asked for, or what it lacks to tell. */
  readonly selected: Selected
  readonly bucket: (isProven: boolean, rules: Pick<ReplayRules, 'maxReplays'>) => Bucket
  /** Why it is in its bucket. */
  readonly detail: string | undefined
  readonly payload: () => unknown
}

interface LookupMore {
  /** Only messages with these keys. */
  readonly keys?: readonly Key[] | undefined
  /** Whoever gets a message reads its payload. */
  readonly payloads?: boolean
  /** What `note` of an earlier lookup found. */
  readonly noted?: Map<Key, number> | undefined
}

const MOST_NOT_FOUND = 100

type Selected = ReplayFacts['selected']

/** Looks messages up in the store, many at once. Changes nothing. */
export class Lookup {
  readonly #of: ReplayedConsumer
  readonly #conditions: readonly Condition[]
  readonly #ids: ReadonlySet<string> | undefined
  readonly #keys: ReadonlySet<Key> | undefined
  readonly #selection: Selection
  readonly #idOf: ReturnType<typeof createIdReader>
  /** How often a message was sent back before, by the copy that tells the highest count. Those that never were are left out. */
  readonly noted: Map<Key, number>
  readonly #found = new Set<string>()
  readonly #keysFound = new Set<Key>()
  #withoutId = 0
  readonly #included: ReadonlySet<Lack>
  readonly #readsPayloads: boolean

  constructor(
    of: ReplayedConsumer,
    selection: Selection,
    { keys, payloads = false, noted = new Map() }: LookupMore = {},
  ) {
    this.#readsPayloads = payloads || selection.ids !== undefined || (selection.where ?? []).length > 0
    this.noted = noted
    this.#included = new Set(selection.include)
    this.#idOf = createIdReader(of.definition)
    this.#of = of
    this.#selection = selection
    this.#conditions = (selection.where ?? []).map(parseCondition).filter((one) => typeof one !== 'string')
    this.#keys = keys === undefined ? undefined : new Set(keys)
    this.#ids = selection.ids === undefined ? undefined : new Set(selection.ids)
  }

  /**
   * @param now - a time after it is wrong
   * @throws ReplayError `DECODER_UNREACHABLE` if a server that the decoder needs does not answer now: nothing is known of the message
   */
  async look(items: readonly ReplayItem[], now: EpochMs): Promise<readonly Looked[]> {
    const keys = await Promise.all(items.map(async ({ message }) => this.#of.keyOf(message)))
    const inRange = items.map((item, at) => this.#inRange(item, keys[at], now))
    const payloads = await this.#payloadsOf(items, inRange)
    const selected = items.map((item, at) =>
      both(inRange[at] ?? 'no', () => this.#matches(item, keys[at], payloads[at] ?? UNREADABLE)),
    )
    const asked = keys.filter((key, at): key is Key => typeof key === 'string' && selected[at] === 'yes')
    const views = asked.length === 0 ? [] : await this.#of.admin.peek(this.#of.scope, asked)
    let at = 0
    return items.map((item, index): Looked => {
      const key = keys[index]
      const isSelected = selected[index] === 'yes'
      const known = typeof key === 'string' ? key : undefined
      const replays = Math.max(replaysOf(item), this.noted.get(known ?? '') ?? 0)
      const view = viewFor(key, isSelected && known !== undefined ? views[at++] : undefined)
      const digest = known === undefined || !isSelected ? '' : this.#of.digestOf(item.message)
      return {
        item,
        key: known,
        view,
        replays,
        selected: selected[index] ?? 'no',
        bucket: (isProven, rules) =>
          bucketOf({ view, digest, selected: selected[index] ?? 'no', isProven, replays }, rules),
        detail: typeof key === 'object' ? key.detail : detailOf(view),
        payload: () => payloads[index]?.payload,
      }
    })
  }

  /**
   * A log keeps the dead letters of a message that was sent back before, and the oldest of them tells nothing of that. Call it for all
   * of a place first.
   */
  async note(items: readonly ReplayItem[]): Promise<void> {
    for (const item of items) {
      const replays = replaysOf(item)
      if (replays === 0) continue
      const key = await this.#of.keyOf(item.message)
      if (typeof key === 'string') this.noted.set(key, Math.max(replays, this.noted.get(key) ?? 0))
    }
  }

  /** `undefined`: no IDs were asked for. */
  ids(): IdsFound | undefined {
    if (this.#ids === undefined) return undefined
    const notFound: string[] = []
    for (const id of this.#ids) {
      if (notFound.length === MOST_NOT_FOUND) break
      if (!this.#found.has(id)) notFound.push(id)
    }
    return { asked: this.#ids.size, found: this.#found.size, notFound, withoutId: this.#withoutId }
  }

  /** `undefined`: no keys were asked for. */
  keysFound(): readonly Key[] | undefined {
    return this.#keys === undefined ? undefined : [...this.#keysFound]
  }

  /** Only if somebody reads them. */
  async #payloadsOf(items: readonly ReplayItem[], inRange: readonly Selected[]): Promise<readonly DecodedPayload[]> {
    if (!this.#readsPayloads) return []
    return Promise.all(items.map(async (item, at) => (inRange[at] === 'no' ? UNREADABLE : payloadOf(this.#of, item))))
  }

  #inRange({ deadLetter, timestamp }: ReplayItem, key: unknown, now: EpochMs): Selected {
    const { since, until, reasons } = this.#selection
    if (this.#keys !== undefined) {
      if (typeof key !== 'string' || !this.#keys.has(key)) return 'no'
      this.#keysFound.add(key)
    }
    const inTime = (): Selected => {
      if (since === undefined && until === undefined) return 'yes'
      const at = usableTime({ timestamp: deadLetter?.since ?? timestamp }, now)
      if (at === undefined) return this.#unless('undated')
      return (since === undefined || at >= since) && (until === undefined || at < until) ? 'yes' : 'no'
    }
    return both(inTime(), () => {
      if (reasons === undefined) return 'yes'
      if (deadLetter?.reason === undefined) return this.#unless('no-reason')
      return reasons.includes(deadLetter.reason) ? 'yes' : 'no'
    })
  }

  #matches({ message }: ReplayItem, key: unknown, payload: DecodedPayload): Selected {
    if (this.#ids !== undefined) {
      const id = typeof key === 'string' ? this.#idOf(message, payload) : undefined
      if (id === undefined) this.#withoutId++
      if (id === undefined || !this.#ids.has(id)) return 'no'
      this.#found.add(id)
    }
    const held = this.#conditions.map((condition) => condition.holds(message, () => payload.payload))
    if (held.includes(false)) return 'no'
    return held.includes(undefined) ? this.#unless('no-field') : 'yes'
  }

  #unless(lack: Lack): Selected {
    return this.#included.has(lack) ? 'yes' : lack
  }
}

/** What is certainly not meant is not counted as lacking something. */
function both(first: Selected, second: () => Selected): Selected {
  if (first === 'no') return 'no'
  const other = second()
  return other === 'no' || first === 'yes' ? other : first
}

function viewFor(key: unknown, view: RecordView | undefined): Looked['view'] {
  if (typeof key === 'string') return view ?? 'not-asked'
  return (key as { readonly reason?: string } | undefined)?.reason === 'no-id' ? 'no-id' : 'unreadable'
}

function detailOf(view: Looked['view']): string | undefined {
  if (typeof view !== 'object') return undefined
  return view.reason ?? view.cause ?? view.found
}

/** How often the message was replayed before, by its header. What the header tells may be no number: then too often. */
function replaysOf({ message: { headers } }: ReplayItem): number {
  const isTold = Object.hasOwn(headers, COPY_HEADER.replayCount)
  return copyNumber(headers, COPY_HEADER.replayCount) ?? (isTold ? Number.POSITIVE_INFINITY : 0)
}

/** What cannot be decoded has no field. */
const UNREADABLE: DecodedPayload = { payload: undefined }

/** @throws ReplayError `DECODER_UNREACHABLE` */
function payloadOf(of: ReplayedConsumer, { message }: ReplayItem): DecodedPayload | Promise<DecodedPayload> {
  const unreadable = (error: unknown): DecodedPayload => {
    if (isOutage(error)) throw of.decoderError(error)
    return UNREADABLE
  }
  try {
    const payload = of.definition.decode(message.value, message)
    return isThenable(payload)
      ? Promise.resolve(payload).then((decoded) => ({ payload: decoded }), unreadable)
      : { payload }
  } catch (error) {
    return unreadable(error)
  }
}
