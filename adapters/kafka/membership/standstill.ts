import { durationText, type DurationMs, type MonotonicMs } from '../../../src/internal.ts'
import type { PartitionHolds } from './partition-holds.ts'
import type { PartitionEpoch } from './partition-epoch.ts'
import type { Report } from '../report.ts'
import type { FetchedBatch } from '../client.ts'

interface StandstillParts {
  /** A member that sends no heartbeat for so long is removed from the group. */
  readonly sessionMs: DurationMs
  readonly holds: Pick<PartitionHolds, 'fetchOnly' | 'hold' | 'release'>
  readonly report: Report
  /** The partitions of this member. */
  readonly epochs: () => readonly PartitionEpoch[]
  /** The last offset of the group that this member knows. */
  readonly offsetOf: (epoch: PartitionEpoch) => bigint | undefined
  /** The offset that the group has committed. May reject. */
  readonly committedOf: (epoch: PartitionEpoch) => Promise<bigint | undefined>
  /** Joins again, with the fetches that `isSearching` asks for. */
  readonly joinAgain: (why: string) => void
  readonly now: () => MonotonicMs
}

/**
 *   moving ─ joins without getting on ─> searching ─ the member is removed once more ─> moving, one partition held
 *      ^                                     └── each partition was fetched from ──┐
 *      └─────────────────────────────────────────────────────────────────────────┘
 */
type State =
  | { readonly is: 'moving'; readonly fruitless: number }
  /**
   * The first partition of `left` is fetched alone. `proving`: maybe only the message before its position, to compare the
   * log. `emptying`: nothing is fetched, so that the fetch that is under way from
   * it ends before the next partition has its turn.
   */
  | {
      readonly is: 'searching'
      readonly left: readonly string[]
      readonly step: 'proving' | 'fetching' | 'emptying'
      /** The last batch that came from it. */
      readonly batch?: Batch | undefined
    }

interface Batch {
  readonly first: string
  readonly last: string
}

interface Held {
  readonly offset: bigint
  /** For people. */
  readonly text: string
}

interface Join {
  readonly began: MonotonicMs
  /** When each broker had last been fetched from. */
  readonly at: MonotonicMs
  readonly endedAt: MonotonicMs | undefined
  readonly gotOn: boolean
}

const MOVING: State = { is: 'moving', fruitless: 0 }
/** Below every offset. */
const NOTHING = -1n

/** After so many joins in a row without getting on the batch that prevents it is looked for. */
const FRUITLESS_JOINS = 3

/**
 * Notices a member that joins again and again without getting on, and finds the partition that does it. kafkajs decodes a
 * fetch in one go and sends no heartbeat meanwhile. If that takes longer than the session, the group removes the member,
 * it joins, and fetches the same again: for ever, and nothing of any partition is committed.
 *
 * A join was fruitless if no offset was committed in it, and half a session or more before its end nothing was fetched. So
 * neither the storms of a rebalance count nor the rebalances of an idle group. Then the smallest fetches are made that a broker
 * allows, one record batch each, from one partition at a time. The partition that ends the membership once more is held.
 */
export class Standstill {
  readonly #parts: StandstillParts
  #state: State = MOVING
  #join: Join | undefined
  /** By name of the partition. */
  readonly #held = new Map<string, Held>()

  constructor(parts: StandstillParts) {
    this.#parts = parts
  }

  get isSearching(): boolean {
    return this.#state.is === 'searching'
  }

  /** For people: why this member is not ready. */
  get problem(): string | undefined {
    if (this.#state.is === 'searching') {
      return `joined ${FRUITLESS_JOINS} times without getting on; looking for the record batch that cannot be fetched within the session`
    }
    return this.#held.size === 0 ? undefined : [...this.#held.values()].map(({ text }) => text).join('; ')
  }

  joined(): void {
    this.#judge()
    this.#beginJoin()
    for (const epoch of this.#parts.epochs()) if (this.#held.has(epoch.name)) void this.#holdStill(epoch)
    const state = this.#state
    if (state.is === 'searching') this.#goOnWith(state.left)
    else if (state.fruitless >= FRUITLESS_JOINS) this.#search()
  }

  /** The membership has ended, before the next join. */
  left(): void {
    const { now } = this.#parts
    if (this.#join?.endedAt === undefined && this.#join !== undefined) this.#join = { ...this.#join, endedAt: now() }
  }

  /** A batch was handed over. Its fetch may have taken too long all the same, which the next heartbeat tells. */
  handedOver(batch: FetchedBatch): void {
    const state = this.#state
    if (state.is !== 'searching' || state.left[0] !== `${batch.topic}/${batch.partition}`) return
    const last = batch.lastOffset()
    this.#state = { ...state, batch: { first: batch.messages[0]?.offset ?? last, last } }
  }

  /** An offset was committed. */
  committed(): void {
    if (this.#state.is !== 'moving' || this.#join === undefined || this.#join.endedAt !== undefined) return
    this.#state = MOVING
    this.#join = { ...this.#join, gotOn: true }
  }

  /** Each broker has been fetched from again: fetch, handover and heartbeat work. */
  turned(): void {
    const state = this.#state
    if (this.#join === undefined || this.#join.endedAt !== undefined) return
    const now = this.#parts.now()
    this.#join = { ...this.#join, at: now }
    if (state.is === 'moving') {
      if (now - this.#join.began >= this.#parts.sessionMs) this.#state = MOVING
      return
    }
    switch (state.step) {
      case 'proving':
        if (!this.#isInQuestion(state.left[0])) this.#state = { ...state, step: 'fetching', batch: undefined }
        return
      case 'fetching':
        this.#state = { ...state, step: 'emptying', batch: undefined }
        return this.#parts.holds.fetchOnly([])
      case 'emptying':
        return this.#goOnWith(state.left.slice(1))
    }
  }

  #beginJoin(): void {
    const now = this.#parts.now()
    this.#join = { began: now, at: now, endedAt: undefined, gotOn: false }
  }

  /** What was fetched from it so far may be only the message that is compared. */
  #isInQuestion(name: string | undefined): boolean {
    const epoch = this.#parts.epochs().find((one) => one.name === name)
    return epoch !== undefined && (epoch.proof !== undefined || epoch.deciding !== undefined)
  }

  /** Looks back at the join that has ended. */
  #judge(): void {
    const { sessionMs, now } = this.#parts
    const join = this.#join
    if (join === undefined || join.gotOn || (join.endedAt ?? now()) - join.at < sessionMs / 2) return
    const state = this.#state
    if (state.is === 'moving') this.#state = { is: 'moving', fruitless: state.fruitless + 1 }
    else this.#hold(state.left[0], state.batch)
  }

  #search(): void {
    const left = this.#names()
    if (left.length === 0) return
    this.#parts.holds.fetchOnly([])
    const stands = this.#parts.epochs().map((epoch) => `${epoch.name} at ${placeOf(this.#parts.offsetOf(epoch))}`)
    this.#state = { is: 'searching', left, step: 'proving' }
    const why = `joined ${FRUITLESS_JOINS} times without getting on (${stands.join(', ')})`
    this.#parts.report(
      'standstill',
      `${why}: each time it took longer than the session of ${this.#session} to fetch. Now one record batch is fetched at a time`,
    )
    this.#parts.joinAgain(why)
  }

  /** Others may have got some of the partitions. */
  #goOnWith(left: readonly string[]): void {
    const own = new Set(this.#names())
    const still = left.filter((name) => own.has(name))
    const [next] = still
    if (next === undefined) return this.#end('each partition was fetched from')
    this.#state = { is: 'searching', left: still, step: 'proving' }
    this.#parts.holds.fetchOnly([next])
  }

  #hold(name: string | undefined, batch: Batch | undefined): void {
    const epoch = this.#parts.epochs().find((one) => one.name === name)
    if (epoch !== undefined) {
      const at = batch === undefined ? this.#parts.offsetOf(epoch) : BigInt(batch.first)
      const which = batch === undefined ? 'the record batch there' : `its record batch ${batch.first} to ${batch.last}`
      const text = `${epoch.name} is held at ${placeOf(at)}: to fetch and decode ${which} takes longer than the session of ${this.#session}`
      this.#held.set(epoch.name, { offset: at ?? NOTHING, text })
      const offset = batch === undefined ? 'its offset behind that batch' : `its offset to ${BigInt(batch.last) + 1n}`
      this.#parts.report(
        'batch-held',
        `${text}. Other partitions go on. Remove the cause and start again; or stop the group, set ${offset}, and start again`,
      )
    }
    this.#end('the partition was found')
  }

  /** Unless another member, or a person, has passed the batch meanwhile. */
  async #holdStill(epoch: PartitionEpoch): Promise<void> {
    const { holds, committedOf } = this.#parts
    holds.hold(epoch, 'stalls')
    const held = this.#held.get(epoch.name)
    const committed = await committedOf(epoch).catch(() => undefined)
    if (held === undefined || committed === undefined || committed <= held.offset) return
    if (this.#held.get(epoch.name) === held) this.#held.delete(epoch.name)
    holds.release(epoch, 'stalls')
  }

  #end(why: string): void {
    this.#state = MOVING
    this.#parts.holds.fetchOnly(undefined)
    this.#parts.joinAgain(`fetches as before: ${why}`)
  }

  /** The partitions that are not held. */
  #names(): readonly string[] {
    return this.#parts.epochs().flatMap(({ name }) => (this.#held.has(name) ? [] : [name]))
  }

  get #session(): string {
    return durationText(this.#parts.sessionMs)
  }
}

function placeOf(offset: bigint | undefined): string {
  return offset === undefined || offset < 0n ? 'its beginning' : `offset ${offset}`
}
