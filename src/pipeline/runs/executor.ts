import { backoffMs, heldBackMs } from '../../core/backoff.ts'
import type { Ground } from '../../core/after-run.ts'
import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import { claimsOf, type Claims } from '../../execution/claims.ts'
import { Held, type Deadlines } from '../../execution/deadlines.ts'
import { remember, remembers } from '../../execution/kept.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import type { TimedRun } from '../../execution/timed-run.ts'
import { LeaseLostError, describeError } from '../../foundation/errors.ts'
import { laterOf } from '../../foundation/retry-later.ts'
import type { PipelineEvent } from '../../ports/observer.ts'
import type { ReleaseOptions } from '../../ports/store.ts'
import { DROPPED, RERUN, type Ending, type SettingAside } from '../ending.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'
import { causeOf } from '../telemetry/cause.ts'
import { decodePayloads, type Undecoded } from '../handling/decode-payloads.ts'
import type { HandlerRun, OnEnd, RunItem } from '../handling/handler-run.ts'
import { tracedBy } from '../handling/traces.ts'

/** Goes on with a run: with the items that could be decoded, and those that could not. */
export type BeginDecoded = (items: readonly RunItem[], undecoded: readonly Undecoded[], sentAt: MonotonicMs) => void

/** A message with its claims. */
export type ClaimedTask = Claims & { readonly task: Task }

/** No handler of it began, so the attempt does not count. */
export const REFUND: ReleaseOptions = { refund: true, doubt: false }
export const NO_REFUND: ReleaseOptions = { refund: false, doubt: false }

/**
 * A failed batch runs again in parts. More parts find the message that fails with fewer runs of the others, but more of
 * them run at once when every message fails.
 */
const PARTS = 8

/**
 * What happens with tasks from their claim to their end, whatever protects them: a lease, a transaction, or nothing.
 * Decodes payloads, begins and ends handlers, gives claims back and sets messages aside, with one timer for all time
 * limits and leases, and with traces and counts.
 */
export class Executor {
  readonly deadlines: Deadlines<RunItem>
  readonly #services: Services
  /** A task has ended, so another may be claimed. */
  readonly #onFreed: () => void
  readonly #remembers: boolean
  readonly #isInTransaction: boolean
  /** `onStoreDown: 'run-unprotected'`: a store that is down holds up no retry. */
  readonly #goesOn: boolean
  readonly #stuck = new Set<TimedRun>()
  #claimed = 0

  constructor(services: Services, onFreed: () => void) {
    const { consumer } = services
    this.#services = services
    this.#onFreed = onFreed
    this.#remembers = remembers(consumer)
    this.#isInTransaction = consumer.store.strategy !== 'lease'
    this.#goesOn = consumer.onStoreDown === 'run-unprotected'
    this.deadlines = services.deadlines
  }

  /** Tasks that are claimed, or being claimed, and not yet marked or given back. */
  get claimed(): number {
    return this.#claimed
  }

  /** Functions that are past their timeout and ignore `signal`. */
  get stuck(): number {
    return this.#stuck.size
  }

  acquire(tasks: readonly Task[]): void {
    for (const task of tasks) if (task.move('claimed')) this.#claimed++
  }

  /** They are claimed no longer, and wait outside of their lanes, where `toWait` puts them. */
  handOver(tasks: readonly Task[], toWait: () => void): void {
    for (const task of tasks) {
      this.#release(task)
      task.move('taken')
    }
    toWait()
    this.#onFreed()
  }

  /** Those with a delivery that can still be settled. The others are dropped. */
  stillOurs(tasks: readonly Task[]): readonly Task[] {
    if (tasks.every(({ isCurrent }) => isCurrent)) return tasks
    this.endAll(
      tasks.filter(({ isCurrent }) => !isCurrent),
      DROPPED,
    )
    return tasks.filter(({ isCurrent }) => isCurrent)
  }

  end(task: Task, ending: Ending): void {
    this.#release(task)
    this.#services.end(task, ending)
    this.#onFreed()
  }

  endAll(tasks: readonly Task[], ending: Ending): void {
    for (const task of tasks) this.end(task, ending)
  }

  /** Before the state of a task changes. */
  #release({ state }: Task): void {
    if (state === 'claimed') this.#claimed--
  }

  /**
   * Decodes the payloads of one run, and calls `begin`: later, if a decoder answers later. Until then the lease is
   * renewed; `sentAt` is when it was granted or last renewed.
   */
  decode(items: readonly RunItem[], sentAt: MonotonicMs, begin: BeginDecoded): void {
    const undecoded = decodePayloads(items, this.#services.decoding)
    if (!(undecoded instanceof Promise)) return begin(readableOf(items, undecoded), undecoded, sentAt)
    void this.#decodeLater(new Held(items, sentAt), undecoded, begin)
  }

  async #decodeLater(held: Held<RunItem>, decoding: Promise<readonly Undecoded[]>, begin: BeginDecoded): Promise<void> {
    this.deadlines.keep(held)
    const undecoded = await decoding
    this.deadlines.release(held)
    begin(readableOf(held.items, undecoded), undecoded, held.sentAt)
  }

  /**
   * What follows for a message that could not be decoded and that nothing else shares a transaction with: the only place
   * that decides it. No handler of it began, so its attempt does not count.
   */
  async undecoded(one: Undecoded, ground: Ground): Promise<void> {
    const { item } = one
    if (one.next === 'again') {
      if (ground !== 'nothing') await this.release([item], REFUND)
      return this.endUndecoded(item, [one])
    }
    const { item: _, next: _next, ...why } = one
    if (ground === 'nothing') return this.retryUnclaimed(item, why.error ?? new TypeError(why.detail))
    await this.giveUp(item, 'given-up', { ...why, attempts: item.claim.attempt - 1 })
  }

  /** No handler of it began: it runs again, and what could not be decoded waits before that. */
  endUndecoded({ task }: RunItem, undecoded: readonly Undecoded[]): void {
    const of = undecoded.find(({ item }) => item.task === task)
    const { decoding } = this.#services
    if (of?.next === 'again') this.end(task, { end: 'rerun', delayMs: decoding.failed(task, task.message, of.error) })
    else this.end(task, RERUN)
  }

  /** The last check before effects begin: a stop or a rebalance may have come meanwhile. `giveBack` gets the others. */
  beginning(
    items: readonly RunItem[],
    isInTime: boolean,
    giveBack: (others: readonly RunItem[]) => void,
  ): readonly RunItem[] {
    const mayBegin = isInTime && !this.#services.isDraining
    // Nearly always.
    if (mayBegin && items.every(({ task }) => task.isCurrent)) return items
    const begin = new Set(mayBegin ? items.filter(({ task }) => task.isCurrent) : [])
    giveBack(items.filter((item) => !begin.has(item)))
    return [...begin]
  }

  /** Calls `onEnd` once, later, with what `ended` is then called with. */
  begin(run: HandlerRun, tx: unknown, now: MonotonicMs, onEnd: OnEnd): void {
    const { consumer, traces, limiter } = this.#services
    if (limiter !== undefined) for (const { task } of run.items) limiter.begun(task)
    run.begin(now)
    this.deadlines.keep(run.held, run)
    traces?.begin(run)
    run.start(consumer, tx, onEnd)
  }

  /** A handler has ended, in time or late: computes what is kept of it, and tells. */
  ended(run: HandlerRun, how: RunEnd): RunEnd {
    this.#stuck.delete(run)
    const { putOffs } = this.#services
    if (putOffs.areAny && how.result !== 'later') for (const { task } of run.items) putOffs.ended(task)
    const end = this.#remembers ? this.#remember(run, how) : how
    const { isHeard, isEachHeard, traces, clock, observe, counts, consumer } = this.#services
    traces?.handled(run, end)
    const { items } = run
    // For the outcome, if this run is marked. A message that runs again may be handled then.
    if (run.state === 'ended') for (const { task } of items) task.skipped = end.skipped
    if (!isHeard) return end
    const durationMs = run.ranMs(clock.monotonic())
    for (const { task } of items) task.handlerMs = durationMs
    counts.ran(end.result, durationMs)
    const { name } = consumer
    if (isEachHeard) {
      observe({ type: 'handler-run', consumer: name, result: end.result, count: items.length, durationMs })
    }
    return end
  }

  #remember({ items, isAborted }: HandlerRun, end: RunEnd): RunEnd {
    const { consumer, observe } = this.#services
    const tell = (told: (at: Pick<Task, 'key' | 'message'>) => PipelineEvent): void => {
      for (const { task } of items) observe(told(task))
    }
    const run = { key: items[0]?.task.key ?? '', isAborted, isInTransaction: this.#isInTransaction }
    return remember(end, run, consumer, {
      policyThrew: (policy, error) =>
        tell(({ key, message }) => ({ type: 'policy-threw', policy, key, message, error })),
      notKept: (error) => tell(({ key, message }) => ({ type: 'result-not-kept', key, message, error })),
    })
  }

  /** A function that is no handler has ended. Returns `false` if it is late: its tasks went on without it. */
  isInTime(run: TimedRun): boolean {
    run.end()
    this.#stuck.delete(run)
    return run.state === 'ended'
  }

  /** Nobody waits for this run any more. Its tasks go on without it, and `health()` says that a restart would help. */
  letGo(run: TimedRun, items: readonly RunItem[]): void {
    if (!run.abandon()) return
    this.#stuck.add(run)
    for (const { task, claim } of items) {
      const { key, message } = task
      this.#services.observe({ type: 'stuck', key, message, attempt: claim.attempt, ...tracedBy(task) })
    }
  }

  /** Nobody knows which message of the batch fails it: each runs again with fewer others. */
  split(items: readonly RunItem[]): void {
    const most = Math.max(1, Math.ceil(items.length / PARTS))
    for (const { task } of items) task.limitCompany(most)
  }

  /** They run again here and soon. Otherwise another process will run them, or none. */
  runAgainHere(items: readonly RunItem[]): boolean {
    return !this.#services.isDraining && items.every(({ task }) => task.isCurrent)
  }

  /** Resolves when the store has answered, or if nobody waits for a store that is down. */
  async release(items: readonly Claims[], how: ReleaseOptions): Promise<void> {
    const { consumer, store } = this.#services
    const claims = claimsOf(items)
    // What is in doubt waits for the store, unless it is to run again anyway.
    const waits = !this.#goesOn || (how.doubt && consumer.onInDoubt !== 'rerun')
    if (waits) return await store.release(claims, how)
    await new Promise<void>((resolve) => void store.release(claims, how, resolve).then(resolve))
  }

  /** They are released and run again. */
  async giveBack(items: readonly ClaimedTask[], how: ReleaseOptions): Promise<void> {
    await this.release(items, how)
    for (const { task } of items) this.end(task, RERUN)
  }

  /**
   * It failed, and has attempts left. The release comes first, because otherwise a retry copy could find the record
   * `busy`. `losses`: how often in a row its database ended its transaction.
   */
  async retry(item: RunItem, error: unknown, losses: number = 0): Promise<void> {
    const { task, claim } = item
    const { attempt } = claim
    const elsewhereMs = this.#services.retryDelayMs(attempt)
    const delayMs = elsewhereMs ?? this.#delayMs(Math.max(attempt, losses), error)
    this.#failed(item, error, delayMs)
    const cause = causeOf({ detail: describeError(error), error }, task.message)
    const releaseMs = elsewhereMs === undefined ? delayMs : heldBackMs(elsewhereMs)
    await this.release([item], { refund: false, doubt: false, delayMs: releaseMs, cause })
    if (elsewhereMs === undefined) this.end(task, { end: 'rerun', delayMs })
    else this.end(task, { end: 'retry', why: 'failed', attempts: attempt, delayMs, error })
  }

  /**
   * Their handler asked for a later time: they run again after it, in the same attempt, and with `limit` all messages of
   * their keys wait as long.
   */
  async putOff(items: readonly RunItem[], error: unknown): Promise<void> {
    const { clock, putOffs, observe } = this.#services
    const delayMs = laterOf(error, clock.now())?.forMs ?? 0
    for (const { task, claim } of items) {
      const times = putOffs.putOff(task, delayMs, clock.monotonic())
      const { attempt } = claim
      const { key, message } = task
      this.#holdBack(task, error)
      task.tried(attempt - 1, true)
      observe({ type: 'put-off', key, message, attempt, times, error, retryInMs: delayMs, ...tracedBy(task) })
    }
    const isElsewhere = this.#services.waitsElsewhere(delayMs)
    const releaseMs = isElsewhere ? heldBackMs(delayMs) : delayMs
    const [first] = items
    const cause = first && causeOf({ detail: describeError(error), error }, first.task.message)
    await this.release(items, { ...REFUND, delayMs: releaseMs, cause })
    for (const { task } of items) {
      if (isElsewhere) this.end(task, { end: 'retry', why: 'busy', attempts: 0, delayMs, error })
      // Its record is held back from now on, so its key is too. It waits at the head of its key: others of the key may
      // not take the permits first.
      else this.end(task, { end: 'rerun', delayMs: this.#holdBack(task, error) ? 0 : delayMs })
    }
  }

  /** How long a message waits that failed: as long as it asks for, or its backoff. */
  #delayMs(failures: number, error: unknown): DurationMs {
    return laterOf(error, this.#services.clock.now())?.forMs ?? this.#backoffMs(failures)
  }

  /** Whether its provider said "later": all messages of its key wait. */
  #holdBack(task: Task, error: unknown): boolean {
    const { limiter, clock } = this.#services
    const later = limiter && laterOf(error, clock.now())
    if (limiter === undefined || later?.isOfKey !== true) return false
    limiter.holdBack(task, later.forMs) // mutant: limit-key-not-held-back
    return true
  }

  /** As `retry`, without a claim and always in its lane. */
  retryUnclaimed(item: RunItem, error: unknown): void {
    const { task, claim } = item
    const delayMs = this.#delayMs(claim.attempt, error)
    task.tried(claim.attempt, true)
    this.#failed(item, error, delayMs)
    this.end(task, { end: 'rerun', delayMs })
  }

  #failed({ task, claim: { attempt } }: RunItem, error: unknown, retryInMs: DurationMs): void {
    const { clock, observe } = this.#services
    const { key, message } = task
    task.firstFailureAt ??= clock.now()
    this.#holdBack(task, error)
    observe({ type: 'attempt-failed', key, message, attempt, error, retryInMs, ...tracedBy(task) })
  }

  #backoffMs(failures: number): DurationMs {
    const { consumer, entropy } = this.#services
    return backoffMs(failures, consumer.backoff, entropy.fraction())
  }

  /**
   * This run ends its message without the effect. While the consumer holds, the message goes back to its place instead,
   * with its attempt; what may have had its effect is always set aside.
   */
  async giveUp(item: ClaimedTask, as: 'given-up' | 'parked', why: SettingAside): Promise<void> {
    const { hold, putOffs } = this.#services
    const { task, claim } = item
    putOffs.ended(task)
    if (why.reason === 'in-doubt') hold.failed(why, task.message, task)
    else if (!hold.admits(why, task)) {
      await this.release([item], REFUND)
      task.tried(claim.attempt - 1, true)
      return this.end(task, RERUN)
    }
    await this.setAside(item, as, why)
  }

  /**
   * `giveUp` is for what this process saw fail; this alone is for what a claim found. With `run-unprotected` a message
   * that is to be given up runs again while its record cannot be written: the record is written before the dead letter.
   * A message that is to be parked waits.
   */
  async setAside(item: ClaimedTask, as: 'given-up' | 'parked', why: SettingAside): Promise<void> {
    const { task, claim } = item
    let wentOn = false
    const onFailing = (): void => {
      wentOn = true
      this.end(task, { end: 'rerun', delayMs: this.#backoffMs(claim.attempt) })
    }
    const goesOn = this.#goesOn && as !== 'parked'
    const ending = await this.#services.store.setAside(item, as, why, goesOn ? onFailing : undefined)
    if (!wentOn) this.end(task, ending)
  }

  /** Partitions were revoked, or a channel closed: aborts what runs only for deliveries that are gone. */
  deliveriesLost(): void {
    const reason = new LeaseLostError('DELIVERY_LOST', 'its partition or channel is gone')
    this.deadlines.abort(reason, (items) => items.length > 0 && items.every(({ task }) => task.isLost))
  }

  /** Stops waiting for all runs, lets leases run out, and leaves no timer. */
  abandon(): void {
    for (const { run, items } of this.deadlines.all) if (run !== undefined) this.letGo(run, items)
    this.deadlines.close()
  }
}

function readableOf(items: readonly RunItem[], undecoded: readonly Undecoded[]): readonly RunItem[] {
  if (undecoded.length === 0) return items
  const unreadable = new Set(undecoded.map(({ item }) => item))
  return items.filter((item) => !unreadable.has(item))
}
