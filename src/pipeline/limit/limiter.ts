import { countedText } from '../../core/counted-text.ts'
import { durationText } from '../../core/duration-text.ts'
import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import type { Limit } from '../../consumer/limit.ts'
import { atOnce } from '../../foundation/at-once.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entropy } from '../../ports/entropy.ts'
import type { PipelineEvent } from '../../ports/observer.ts'
import { Fifo } from '../intake/fifo.ts'
import { headOf, type Permitted } from '../intake/ready.ts'
import type { Lane, Task } from '../task.ts'
import { OwnQuota, type KeyQuota } from './key-quota.ts'
import { SharedKeyQuota } from './shared-key-quota.ts'
import { SharedLine } from './shared-line.ts'
import { Turn } from './turn.ts'

/** The timer waits at least so long, so that permits of a high rate are taken together. */
const LEAST_WAIT_MS: DurationMs = 5
/** With so many quotas, and twice as many as after the last look, those that are as new are forgotten. */
const FORGET_ABOVE = 1_000

interface LimiterParts {
  readonly limit: Limit
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: (event: PipelineEvent) => void
  /** A task may be taken. */
  readonly wake: () => void
  /** Its handler asked for a later time: it is first of its key. */
  readonly wasPutOff: (task: Task) => boolean
}

/**
 * Lanes and tasks that are ready and wait for a permit, before their claim. Keys with a free permit take turns, one
 * message each. A task keeps its permit until its handler begins; if none does, the permit is given back. One timer serves
 * all keys.
 */
export class Limiter implements Permitted {
  readonly #parts: LimiterParts
  readonly #shared: SharedLine | undefined
  /** By key; with `together` there is one. */
  readonly #quotas = new Map<string, KeyQuota>()
  /** Each is due or asleep. */
  readonly #turns = new Map<string, Turn>()
  /** Keys that may have a free permit, in the order of their turns. */
  readonly #due = new Fifo<Turn>()
  /** Keys without a free permit. */
  readonly #asleep = new Set<Turn>()
  /** Who has a permit and has not begun. */
  readonly #permits = new Map<Task, KeyQuota>()
  /** `by` is called once for each message. */
  readonly #keys = new WeakMap<Task, string>()
  #forgetAbove = FORGET_ABOVE
  #length = 0
  #wakeAt: MonotonicMs = Number.POSITIVE_INFINITY
  #cancel: (() => void) | undefined
  #isOver = false

  constructor(parts: LimiterParts) {
    const { limit } = parts
    this.#parts = parts
    this.#shared = limit.shared && new SharedLine(limit.shared, limit, parts)
  }

  get length(): number {
    return this.#length
  }

  get hasNext(): boolean {
    const now = this.#parts.clock.monotonic()
    for (let turn = this.#due.first; turn !== undefined; turn = this.#due.first) {
      if (turn.length > 0) {
        const freeAt = turn.quota.freeAt(now)
        if (freeAt <= now) return true
        this.#asleep.add(turn)
        this.#wakeBy(freeAt, now)
      }
      this.#due.shift()
    }
    return false
  }

  /** Messages that wait for a permit, those behind another one of their lane included. */
  get waiting(): number {
    let count = 0
    for (const ready of this.waitingOnes()) count += 'queue' in ready ? ready.queue.length : 1
    return count
  }

  /** The one that arrived first of those that wait. */
  get oldest(): Task | undefined {
    let oldest: Task | undefined
    for (const ready of this.waitingOnes()) {
      const head = headOf(ready)
      if (head !== undefined && (oldest === undefined || head.arrival.at < oldest.arrival.at)) oldest = head
    }
    return oldest
  }

  /** The shared limiter does not answer. */
  get isDown(): boolean {
    return this.#shared?.problem !== undefined
  }

  /** The text of `health().checks.limit`. */
  get check(): string {
    const problem = this.#shared?.problem
    if (problem !== undefined) {
      const { name, forMs, error } = problem
      return `nothing begins: the shared limiter ${name} has not answered for ${durationText(inSeconds(forMs))}: ${error}`
    }
    const { waiting } = this
    if (waiting === 0) return 'ok'
    const { perSecond, by, together } = this.#parts.limit
    const each = by === undefined || together ? '' : ' for each key'
    return `${countedText(waiting, 'waits', 'wait')} for the limit of ${perSecond} a second${each}${this.#heldText()}`
  }

  push(ready: Lane | Task): void {
    const head = headOf(ready)
    if (head === undefined) return
    this.#turnOf(head).push(ready, this.#parts.wasPutOff(head))
    this.#length++
  }

  putFront(all: readonly (Lane | Task)[]): void {
    for (const ready of all.toReversed()) {
      const head = headOf(ready)
      if (head === undefined) continue
      this.giveBack(head)
      this.#turnOf(head).putFront(ready)
      this.#length++
    }
  }

  /** The next one, with a permit for its head. */
  shift(): Lane | Task | undefined {
    while (this.hasNext) {
      const turn = this.#due.shift()
      const ready = turn?.shift()
      if (turn === undefined || ready === undefined) break
      this.#length--
      const head = headOf(ready)
      const isOfTurn = head !== undefined && this.#keyOf(head) === turn.key
      if (isOfTurn) this.#permit(head, turn.quota)
      if (turn.length > 0) this.#due.push(turn)
      else this.#turns.delete(turn.key)
      if (isOfTurn) return ready
      // Its lane has another head since, of another key.
      this.push(ready)
    }
    return undefined
  }

  /** A permit for a further task of a lane whose head was shifted, if one is free. */
  mayJoin(task: Task): boolean {
    const now = this.#parts.clock.monotonic()
    const quota = this.#quotaOf(this.#keyOf(task))
    if (quota.freeAt(now) > now) return false
    this.#permit(task, quota)
    return true
  }

  remove(which: (ready: Lane | Task) => boolean): (Lane | Task)[] {
    const removed: (Lane | Task)[] = []
    for (const turn of this.#turns.values()) {
      const gone = turn.remove(which)
      this.#length -= gone.length
      removed.push(...gone)
      if (turn.length > 0) continue
      this.#turns.delete(turn.key)
      this.#asleep.delete(turn)
    }
    return removed
  }

  /** Everything that waits for a permit. To be asked for now and then only. */
  waitingOnes(): ReadonlySet<Lane | Task> {
    return new Set([...this.#turns.values()].flatMap((turn) => [...turn]))
  }

  /** Its handler begins: the permit is used. One that runs again beside its lane has none, and the next ones wait for it. */
  begun(task: Task): void {
    if (this.#permits.delete(task)) return
    this.#quotaOf(this.#keyOf(task)).take(this.#parts.clock.monotonic())
  }

  /** No handler of it begins now. Does nothing if it has no permit. */
  giveBack(task: Task): void {
    const quota = this.#permits.get(task)
    if (quota === undefined) return
    this.#permits.delete(task)
    quota.giveBack() // mutant: limit-duplicate-spends-a-permit
    const now = this.#parts.clock.monotonic()
    if (this.#asleep.size > 0) this.#wakeBy(now, now)
  }

  /** Its provider asked to wait: all messages of its key do. */
  holdBack(task: Task, forMs: DurationMs): void {
    const now = this.#parts.clock.monotonic()
    this.#quotaOf(this.#keyOf(task)).holdBack(now, now + forMs)
  }

  stop(): void {
    this.#isOver = true
    this.#shared?.stop()
    this.#cancel?.()
    this.#cancel = undefined
  }

  #permit(task: Task, quota: KeyQuota): void {
    quota.take(this.#parts.clock.monotonic())
    this.#permits.set(task, quota)
  }

  #turnOf(head: Task): Turn {
    const key = this.#keyOf(head)
    const known = this.#turns.get(key)
    if (known !== undefined) return known
    const quota = this.#quotaOf(key)
    if (quota.waiting === 0) quota.wanted(this.#parts.clock.monotonic())
    const turn = new Turn(key, quota)
    this.#turns.set(key, turn)
    this.#due.push(turn)
    return turn
  }

  #keyOf(task: Task): string {
    const { by } = this.#parts.limit
    if (by === undefined) return ''
    const known = this.#keys.get(task)
    if (known !== undefined) return known
    const key = this.#askFor(by, task)
    this.#keys.set(task, key)
    return key
  }

  #askFor(by: NonNullable<Limit['by']>, { key, message }: Task): string {
    let error: unknown
    try {
      const answer: unknown = atOnce('limit.by', by(message), 'take the key from the message')
      if (typeof answer === 'string') return answer
      error = new TypeError(`limit.by: expected text, got ${answer === null ? 'null' : typeof answer}`)
    } catch (thrown) {
      error = thrown
    }
    this.#parts.observe({ type: 'policy-threw', policy: 'limit.by', key, message, error })
    return ''
  }

  #quotaOf(key: string): KeyQuota {
    const { limit } = this.#parts
    const of = limit.together ? '' : key
    const known = this.#quotas.get(of)
    if (known !== undefined) return known
    if (this.#quotas.size >= this.#forgetAbove) this.#forget()
    const quota =
      this.#shared === undefined ? new OwnQuota(limit) : new SharedKeyQuota(limit, of, this.#shared, () => this.#look())
    this.#quotas.set(of, quota)
    return quota
  }

  #forget(): void {
    const now = this.#parts.clock.monotonic()
    const used = new Set(this.#permits.values())
    for (const [key, quota] of this.#quotas) if (quota.isAsNew(now) && !used.has(quota)) this.#quotas.delete(key)
    this.#forgetAbove = Math.max(FORGET_ABOVE, 2 * this.#quotas.size)
  }

  /** Keys may have a free permit now. */
  #look(): void {
    if (this.#isOver) return
    const now = this.#parts.clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    for (const turn of this.#asleep) {
      const freeAt = turn.quota.freeAt(now)
      if (freeAt > now) next = Math.min(next, freeAt)
      else {
        this.#asleep.delete(turn)
        this.#due.push(turn)
      }
    }
    this.#wakeBy(next, now)
    if (this.#due.length > 0) this.#parts.wake()
  }

  #wakeBy(at: MonotonicMs, now: MonotonicMs): void {
    if (this.#isOver || at >= this.#wakeAt) return
    this.#cancel?.()
    this.#wakeAt = at
    const waitMs = Math.min(LONGEST_TIMER_MS, Math.max(LEAST_WAIT_MS, Math.ceil(at - now)))
    this.#cancel = this.#parts.clock.after(waitMs, () => {
      this.#cancel = undefined
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.#look()
    })
  }

  #heldText(): string {
    const now = this.#parts.clock.monotonic()
    const held = [...this.#quotas.values()].filter(({ waiting, heldUntil }) => waiting > 0 && heldUntil > now)
    if (held.length === 0) return ''
    const leftMs = Math.max(...held.map(({ heldUntil }) => heldUntil)) - now
    const keys = held.length === 1 ? 'a key is' : `${held.length} keys are`
    return `; ${keys} held back as its provider asked, for another ${durationText(inSeconds(leftMs))}`
  }
}

const LONGEST_TIMER_MS: DurationMs = 2 ** 31 - 1

function inSeconds(ms: DurationMs): DurationMs {
  return Math.ceil(ms / 1_000) * 1_000
}
