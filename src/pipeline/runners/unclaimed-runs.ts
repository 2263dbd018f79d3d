import { backoffMs } from '../../core/backoff.ts'
import type { DurationMs } from '../../core/units.ts'
import type { Claim } from '../../ports/store.ts'
import { Held, WITHOUT_LEASE, type OnStuck } from '../../execution/deadlines.ts'
import { RERUN, type Ending } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import type { Executor } from '../handling/executor.ts'
import { HandlerRun, type RunEnd, type RunItem } from '../handling/handler-run.ts'
import { decodePayloads, type Undecoded, type Unreadable } from '../handling/decode-payloads.ts'
import { batchesOf, splitUp } from './batches.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'
import { tracedBy } from '../handling/traces.ts'

interface UnclaimedHooks {
  readonly onRan?: (run: HandlerRun, end: RunEnd) => void
  readonly end: (task: Task, ending: Ending) => void
  readonly onHandled: (item: RunItem, kept: RunEnd['kept']) => void
  /** An attempt failed; it is repeated. `undecoded`: the payload could not be read, and no handler ran. */
  readonly onFailed: (item: RunItem, end: Pick<RunEnd, 'result' | 'error'>, undecoded?: Unreadable) => void
}

/**
 * Runs handlers without a claim: in mode `observe`, and while the store is down under `onStoreDown: 'run-unprotected'`. A
 * message that fails is tried again in its lane, for as long as it takes, and is never set aside: no attempt is counted
 * in the store. `ctx.signal` aborts as under a lease, except that there is no lease to lose.
 */
export class UnclaimedRuns {
  readonly #services: Services
  readonly #hooks: UnclaimedHooks
  readonly #executor: Executor
  readonly #onEnd = (run: HandlerRun, end: RunEnd): void => this.#ended(run, end)
  /** The message still waits for it: another run beside it could repeat the effect. */
  readonly #onStuck: OnStuck<RunItem> = ({ items }, run) => this.#executor.letGo(run, items)

  constructor(services: Services, executor: Executor, hooks: UnclaimedHooks) {
    this.#services = services
    this.#hooks = hooks
    this.#executor = executor
  }

  start(tasks: readonly Task[]): void {
    const isBatch = this.#services.consumer.handleBatch !== undefined
    const together: RunItem[] = []
    for (const task of tasks) {
      const item = this.#itemOf(task)
      if (isBatch) together.push(item)
      else this.#decode([item])
    }
    for (const batch of batchesOf(together)) this.#decode(batch)
  }

  /** Nothing can be marked with this claim: no store has granted it. */
  #itemOf(task: Task): RunItem {
    const { key, digest, history } = task
    const { retentionMs } = this.#services.consumer
    const claim: Claim = { key, digest, scope: '', token: '', fence: 0, attempt: history.attempts + 1, retentionMs }
    return { task, claim, payload: undefined, doubt: false }
  }

  #decode(items: readonly RunItem[]): void {
    const decoded = decodePayloads(items, this.#services.decoding)
    if (decoded instanceof Promise) void decoded.then((undecoded) => this.#begin(items, undecoded))
    else this.#begin(items, decoded)
  }

  #begin(items: readonly RunItem[], undecoded: readonly Undecoded[]): void {
    const { isDraining, clock } = this.#services
    // Nearly always.
    const allBegin = undecoded.length === 0 && !isDraining && items.every(({ task }) => task.isCurrent)
    const beginning = allBegin ? items : this.#sorted(items, undecoded)
    if (beginning.length === 0) return
    const run = new HandlerRun(new Held(beginning, WITHOUT_LEASE, this.#onStuck))
    this.#executor.begin(run, undefined, clock.monotonic(), this.#onEnd)
  }

  /** Ends those that cannot begin, and returns the others. */
  #sorted(items: readonly RunItem[], undecoded: readonly Undecoded[]): readonly RunItem[] {
    const unreadable = new Set(undecoded.map(({ item }) => item))
    for (const one of undecoded) {
      if (one.next === 'again') {
        const { task } = one.item
        const delayMs = this.#services.decoding.failed(task, task.message, one.error)
        this.#hooks.end(task, { end: 'rerun', delayMs })
        continue
      }
      this.#hooks.onFailed(one.item, { result: 'fatal', error: one.error }, one)
      this.#again(one.item, one.error ?? new TypeError(one.detail))
    }
    const beginning: RunItem[] = []
    for (const item of items) {
      if (unreadable.has(item)) continue
      if (!this.#services.isDraining && item.task.isCurrent) beginning.push(item)
      else this.#hooks.end(item.task, RERUN)
    }
    return beginning
  }

  #ended(run: HandlerRun, how: RunEnd): void {
    this.#executor.deadlines.release(run.held)
    const end = this.#executor.ended(run, how)
    this.#hooks.onRan?.(run, end)
    const evidence = Evidence.ofRun(end)
    if (evidence !== undefined) {
      for (const item of run.items) {
        const { task, claim } = item
        this.#hooks.onHandled(item, end.kept)
        this.#hooks.end(task, { end: 'ran', evidence, attempt: claim.attempt, result: end.kept })
      }
      return
    }
    // A failed batch says nothing about its single messages.
    const isSplit = run.items.length > 1
    if (isSplit) splitUp(run.items.map(({ task }) => task))
    for (const item of run.items) {
      if (isSplit || run.isInterrupted) this.#hooks.end(item.task, RERUN)
      else {
        this.#hooks.onFailed(item, end)
        this.#again(item, end.error)
      }
    }
  }

  #again({ task, claim: { attempt } }: RunItem, error: unknown): void {
    const { consumer, clock, entropy, observe } = this.#services
    const { key, message } = task
    const retryInMs: DurationMs = backoffMs(attempt, consumer.backoff, entropy.fraction())
    task.tried(attempt, true)
    task.firstFailureAt ??= clock.now()
    observe({ type: 'attempt-failed', key, message, attempt, error, retryInMs, ...tracedBy(task) })
    this.#hooks.end(task, { end: 'rerun', delayMs: retryInMs })
  }
}
