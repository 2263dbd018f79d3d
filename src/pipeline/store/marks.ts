import type { MarkVerdict, Result } from '../../core/record.ts'
import type { Granted } from './claim-step.ts'
import { LEASE_LOST, RERUN, DROPPED, type Ending } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { Held } from '../../execution/deadlines.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'

interface MarksHooks {
  /** The store has answered for this lease, or never will. */
  readonly onAnswered: (lease: Held<RunItem>) => void
  readonly end: (task: Task, ending: Ending) => void
  /**
   * `onStoreDown: 'run-unprotected'`: called for each message that is settled because the store does not answer for its
   * mark, which is still asked for.
   */
  readonly onUnmarked?: ((task: Task) => void) | undefined
}

/** Marks under leases: one call for all runs that ended with an effect in one turn of the event loop. */
export class Marks {
  readonly #services: Services
  readonly #hooks: MarksHooks
  #ended: Held<RunItem>[] = []
  readonly #underWay = new Set<Promise<void>>()
  #tasksUnderWay = 0

  constructor(services: Services, hooks: MarksHooks) {
    this.#services = services
    this.#hooks = hooks
  }

  /** To be marked at the end of the turn. */
  add(lease: Held<RunItem>): void {
    this.#ended.push(lease)
  }

  get areWaiting(): boolean {
    return this.#ended.length > 0
  }

  flush(): void {
    if (!this.areWaiting) return
    const leases = this.#ended
    this.#ended = []
    void this.mark(leases)
  }

  /** Tasks whose marks have no answer yet. */
  get tasksUnderWay(): number {
    return this.#tasksUnderWay
  }

  /** Resolves when all marks in flight are answered; `undefined` if there are none. */
  get answered(): Promise<unknown> | undefined {
    return this.#underWay.size === 0 ? undefined : Promise.all(this.#underWay)
  }

  async mark(leases: readonly Held<RunItem>[]): Promise<void> {
    const marking = this.#mark(leases)
    this.#underWay.add(marking)
    await marking
    this.#underWay.delete(marking)
  }

  async #mark(leases: readonly Held<RunItem>[]): Promise<void> {
    const { store } = this.#services
    const { end, onAnswered, onUnmarked } = this.#hooks
    const items: RunItem[] = []
    for (const lease of leases) for (const item of lease.items) items.push(item)
    const results = resultsOf(leases)
    this.#tasksUnderWay += items.length
    let isUnderWay = true
    const answered = (): void => {
      if (isUnderWay) this.#tasksUnderWay -= items.length
      isUnderWay = false
    }
    const settle = (): void => {
      answered()
      this.#settleUnmarked(items, results)
    }
    const verdicts = await store.mark(items, results, onUnmarked && settle)
    answered()
    for (const lease of leases) onAnswered(lease)
    this.#services.endTogether(() => {
      let index = 0
      for (const { task, claim } of items) {
        const evidence = Evidence.ofMark(verdicts?.[index])
        if (evidence === undefined) end(task, this.#withoutMark(task, verdicts))
        else end(task, { end: 'handled', evidence, claim, result: results?.[index] })
        index++
      }
    })
    if (verdicts !== undefined) store.observeMarks(verdicts)
  }

  /** Ends tasks whose effect happened. The answer to their marks ends nothing after that. */
  #settleUnmarked(items: readonly RunItem[], results: readonly (Result | undefined)[] | undefined): void {
    const evidence = Evidence.ofRun({ result: 'handled' })
    if (evidence === undefined) return
    for (const [at, { task, claim }] of items.entries()) {
      this.#hooks.onUnmarked?.(task)
      this.#hooks.end(task, { end: 'handled', evidence, claim, result: results?.[at] })
    }
  }

  /** Marks without a run. */
  async skip(items: readonly Granted[]): Promise<void> {
    const { store } = this.#services
    const results = items.some(({ duplicateOf }) => duplicateOf?.result !== undefined)
    const verdicts = await store.mark(items, results ? items.map(({ duplicateOf }) => duplicateOf?.result) : undefined)
    for (const [index, item] of items.entries()) {
      const evidence = Evidence.ofMark(verdicts?.[index])
      const ending = evidence === undefined ? this.#withoutMark(item.task, verdicts) : endOfSkip(item, evidence)
      this.#hooks.end(item.task, ending)
    }
    if (verdicts !== undefined) store.observeMarks(verdicts)
  }

  /**
   * The tasks went on without this run, but its effect happened after all. The owner token decides whether its mark
   * counts.
   */
  async markLate(lease: Held<RunItem>): Promise<void> {
    const { store } = this.#services
    const verdicts = await store.mark(lease.items, resultsOf([lease]))
    if (verdicts !== undefined) store.observeMarks(verdicts)
  }

  #withoutMark(task: Task, verdicts: readonly MarkVerdict[] | undefined): Ending {
    // Unknown at the stop deadline: an effect that happened is never released, so the record becomes in doubt.
    if (verdicts === undefined) return DROPPED
    this.#services.observe({ type: 'lease-lost', key: task.key, message: task.message })
    // The store knows who has the message now. Claim it again and follow that verdict, if the delivery is still ours.
    return task.isCurrent ? RERUN : LEASE_LOST
  }
}

/** How a task ends that was marked without a run. */
export function endOfSkip({ duplicateOf }: Granted, evidence: Evidence): Ending {
  if (duplicateOf === undefined) return { end: 'duplicate', evidence, reason: 'beyond-retention' }
  const { since, result } = duplicateOf
  return { end: 'duplicate', evidence, since, result }
}

/** What to keep for each item. `undefined`: nothing. */
function resultsOf(leases: readonly Held<RunItem>[]): readonly (Result | undefined)[] | undefined {
  if (leases.every(({ kept }) => kept === undefined)) return undefined
  const results: (Result | undefined)[] = []
  for (const { items, kept } of leases) for (let left = items.length; left > 0; left--) results.push(kept)
  return results
}
