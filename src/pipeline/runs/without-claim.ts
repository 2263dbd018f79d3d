import { afterRun } from '../../core/after-run.ts'
import { Held, WITHOUT_LEASE, type OnStuck } from '../../execution/deadlines.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import type { Claim } from '../../ports/store.ts'
import { RERUN, type Ending } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'
import { batchesOf } from './batches.ts'
import type { Undecoded, Unreadable } from '../handling/decode-payloads.ts'
import type { BeginDecoded, Executor } from './executor.ts'
import { HandlerRun, type RunItem } from '../handling/handler-run.ts'

interface Hooks {
  readonly onRan?: (run: HandlerRun, end: RunEnd) => void
  /** Called before a task ends, or goes back to its lane. */
  readonly onEnding?: (task: Task) => void
  readonly onHandled: (item: RunItem, kept: RunEnd['kept']) => void
  /** An attempt failed; it is repeated. `undecoded`: the payload could not be read, and no handler ran. */
  readonly onFailed: (item: RunItem, end: Pick<RunEnd, 'result' | 'error'>, undecoded?: Unreadable) => void
}

/**
 * Runs handlers without a claim: in mode `observe`, and while the store is down under `onStoreDown: 'run-unprotected'`. A
 * message that fails is tried again in its lane, for as long as it takes, and is never set aside: no attempt is counted
 * in the store. `ctx.signal` aborts as under a lease, except that there is no lease to lose.
 */
export class WithoutClaim {
  readonly #services: Services
  readonly #hooks: Hooks
  readonly #executor: Executor
  readonly #onEnd = (run: HandlerRun, end: RunEnd): void => this.#ended(run, end)
  readonly #begin: BeginDecoded = (items, undecoded) => this.#decoded(items, undecoded)
  readonly #giveBack = (items: readonly RunItem[]): void => items.forEach(({ task }) => this.#end(task, RERUN))
  /** The message still waits for it: another run beside it could repeat the effect. */
  readonly #onStuck: OnStuck<RunItem> = ({ items }, run) => this.#executor.letGo(run, items)

  constructor(services: Services, executor: Executor, hooks: Hooks) {
    this.#services = services
    this.#hooks = hooks
    this.#executor = executor
  }

  start(tasks: readonly Task[]): void {
    const items = tasks.map((task) => this.#itemOf(task))
    const isBatch = this.#services.consumer.handleBatch !== undefined
    const runs = isBatch ? batchesOf(items) : items.map((item) => [item])
    for (const run of runs) this.#executor.decode(run, WITHOUT_LEASE, this.#begin)
  }

  /** Nothing can be marked with this claim: no store has granted it. */
  #itemOf(task: Task): RunItem {
    const { key, digest, history } = task
    const { retentionMs } = this.#services.consumer
    const claim: Claim = { key, digest, scope: '', token: '', fence: 0, attempt: history.attempts + 1, retentionMs }
    return { task, claim, payload: undefined, doubt: false }
  }

  #decoded(items: readonly RunItem[], undecoded: readonly Undecoded[]): void {
    for (const one of undecoded) {
      if (one.next === 'set-aside') this.#hooks.onFailed(one.item, { result: 'fatal', error: one.error }, one)
      this.#hooks.onEnding?.(one.item.task)
      void this.#executor.undecoded(one, 'nothing')
    }
    const beginning = this.#executor.beginning(items, true, this.#giveBack)
    if (beginning.length === 0) return
    const run = new HandlerRun(new Held(beginning, WITHOUT_LEASE, this.#onStuck))
    this.#executor.begin(run, undefined, this.#services.clock.monotonic(), this.#onEnd)
  }

  #ended(run: HandlerRun, how: RunEnd): void {
    const executor = this.#executor
    executor.deadlines.release(run.held)
    const end = executor.ended(run, how)
    this.#hooks.onRan?.(run, end)
    const { items, isInterrupted } = run
    const evidence = Evidence.ofRun(end)
    if (evidence !== undefined) {
      for (const item of items) {
        const { task, claim } = item
        this.#hooks.onHandled(item, end.kept)
        this.#end(task, { end: 'handled', evidence, claim, result: end.kept })
      }
      return
    }
    const { result } = end
    // Nobody counts its attempts.
    const ran = { result, attempt: 1, doubt: false, messages: items.length, isInterrupted, losses: 0 }
    const { next } = afterRun(ran, 'nothing', this.#services.consumer)
    if (next === 'split') executor.split(items)
    for (const item of items) {
      if (next === 'retry') {
        this.#hooks.onFailed(item, end)
        this.#retry(item, end.error)
      } else this.#end(item.task, RERUN)
    }
  }

  #retry(item: RunItem, error: unknown): void {
    this.#hooks.onEnding?.(item.task)
    this.#executor.retryUnclaimed(item, error)
  }

  #end(task: Task, ending: Ending): void {
    this.#hooks.onEnding?.(task)
    this.#executor.end(task, ending)
  }
}
