import type { Result } from '../../core/record.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import type { Claim } from '../../ports/store.ts'
import type { Services } from '../services.ts'
import { LateMarks, type LateMark } from '../store/late-marks.ts'
import type { ClaimedBatch } from '../store/store-client.ts'
import type { Task } from '../task.ts'
import type { Executor } from './executor.ts'
import { tracedBy } from '../handling/traces.ts'
import { WithoutClaim } from './without-claim.ts'

/**
 * `onStoreDown: 'run-unprotected'`: runs handlers without a claim while the store does not answer, and writes their
 * records when it is back. The claim that the store left unanswered is still asked for: if it was granted after all, its
 * mark ends it, or its release if the handler failed.
 */
export class Unprotected {
  readonly #runs: WithoutClaim
  readonly #services: Services
  readonly #executor: Executor
  readonly #marks: LateMarks
  readonly #running = new WeakSet<Task>()
  readonly #granted = new WeakMap<Task, Claim>()
  /** What to keep with the marks of tasks that were handled. */
  readonly #handled = new WeakMap<Task, LateMark>()

  constructor(services: Services, executor: Executor) {
    this.#services = services
    this.#executor = executor
    this.#marks = new LateMarks(services, {})
    this.#runs = new WithoutClaim(services, executor, {
      onRan: ({ items }, ended) => {
        for (const { task } of items) this.tell(task, ended)
      },
      onEnding: (task) => this.#ended(task),
      onHandled: ({ task }, kept) => this.#mark(task, kept),
      onFailed: () => {},
    })
  }

  start(tasks: readonly Task[]): void {
    this.#executor.acquire(tasks)
    for (const task of tasks) this.#running.add(task)
    this.#runs.start(tasks)
  }

  /** The store has answered the claim of tasks that were started without it; `undefined`: it never will. */
  answered(tasks: readonly Task[], batch: ClaimedBatch | undefined): void {
    for (const [at, task] of tasks.entries()) {
      const step = batch?.steps[at]
      if (step !== undefined && 'claim' in step) this.#grant(task, step.claim)
    }
  }

  #grant(task: Task, claim: Claim): void {
    const handled = this.#handled.get(task)
    if (handled !== undefined) this.#marks.add({ ...handled, claim })
    else if (this.#running.has(task)) this.#granted.set(task, claim)
    else this.#release(claim)
  }

  /** A message ran, or went on, without the protection of a claim, or was settled before its mark. */
  tell(task: Task, { result }: Pick<RunEnd, 'result'>): void {
    const { key, message } = task
    this.#services.observe({ type: 'unprotected-run', key, message, result, ...tracedBy(task) })
  }

  written(): Promise<void> {
    return this.#marks.written()
  }

  abandon(): void {
    this.#marks.close()
  }

  #mark(task: Task, kept: Result | undefined): void {
    const { key, digest, message } = task
    const mark = { key, digest, kept, at: this.#services.clock.now(), place: message, claim: this.#granted.get(task) }
    this.#handled.set(task, mark)
    this.#granted.delete(task)
    this.#marks.add(mark)
  }

  /** It was not handled, so what it was granted meanwhile is given up. */
  #ended(task: Task): void {
    this.#running.delete(task)
    const claim = this.#granted.get(task)
    this.#granted.delete(task)
    if (claim !== undefined) this.#release(claim)
  }

  #release(claim: Claim): void {
    void this.#services.store.release([claim], { refund: false, doubt: false })
  }
}
