import { isMarked } from '../core/decision.ts'
import type { MarkVerdict, Reason, Result } from '../core/record.ts'
import type { Claim } from '../ports/store.ts'
import { Evidence } from './evidence.ts'
import type { HandlerRun, RunItem } from './handler-run.ts'
import { remembers } from './remember.ts'
import type { Desk } from './runner.ts'
import { faultOfMark } from './store-answers.ts'
import type { Task } from './task.ts'

/** Marks under leases: one call for all runs that ended with an effect in one turn of the event loop. */
export class Marks {
  readonly #desk: Desk
  readonly #onMarked: (runs: readonly HandlerRun[]) => void
  readonly #remembers: boolean
  #ended: HandlerRun[] = []
  readonly #underWay = new Set<Promise<void>>()
  #tasksUnderWay = 0

  /** `onMarked`: the store has answered for these runs, or never will; their slots are free. */
  constructor(desk: Desk, onMarked: (runs: readonly HandlerRun[]) => void) {
    this.#desk = desk
    this.#onMarked = onMarked
    this.#remembers = remembers(desk.consumer)
  }

  /** To be marked at the end of the turn. */
  add(run: HandlerRun): void {
    this.#ended.push(run)
  }

  get areWaiting(): boolean {
    return this.#ended.length > 0
  }

  flush(): void {
    if (!this.areWaiting) return
    const runs = this.#ended
    this.#ended = []
    void this.mark(runs)
  }

  /** Tasks whose marks have no answer yet. */
  get tasksUnderWay(): number {
    return this.#tasksUnderWay
  }

  /** Resolves when all marks in flight are answered; `undefined` if there are none. */
  get answered(): Promise<unknown> | undefined {
    return this.#underWay.size === 0 ? undefined : Promise.all(this.#underWay)
  }

  async mark(runs: readonly HandlerRun[]): Promise<void> {
    const marking = this.#mark(runs)
    this.#underWay.add(marking)
    await marking
    this.#underWay.delete(marking)
  }

  async #mark(runs: readonly HandlerRun[]): Promise<void> {
    const items: RunItem[] = []
    for (const run of runs) for (const item of run.items) items.push(item)
    const results = this.#remembers ? runs.flatMap(resultsOf) : undefined
    this.#tasksUnderWay += items.length
    const verdicts = await this.#ask(
      items.map(({ claim }) => claim),
      results,
    )
    this.#tasksUnderWay -= items.length
    this.#onMarked(runs)
    if (verdicts === undefined) {
      // Unknown at the stop deadline: an effect that happened is never released, so the record becomes in doubt.
      for (const { task } of items) this.#desk.drop(task)
      return
    }
    let index = 0
    for (const { task, claim } of items) {
      const evidence = Evidence.ofMark(verdicts[index])
      if (evidence === undefined) this.#leaseLost(task)
      else this.#desk.handled(task, evidence, claim, results?.[index])
      index++
    }
    this.#observe(verdicts)
  }

  /** Marks without a run. */
  async skip(items: readonly Pick<RunItem, 'task' | 'claim'>[], reason: Reason): Promise<void> {
    const verdicts = await this.#ask(
      items.map(({ claim }) => claim),
      undefined,
    )
    for (const [index, { task }] of items.entries()) {
      const evidence = Evidence.ofMark(verdicts?.[index])
      if (verdicts === undefined) this.#desk.drop(task)
      else if (evidence === undefined) this.#leaseLost(task)
      else this.#desk.duplicate(task, evidence, { reason })
    }
    if (verdicts !== undefined) this.#observe(verdicts)
  }

  /**
   * The tasks went on without this run, but its effect happened after all. The owner token decides whether its mark
   * counts.
   */
  async markLate(run: HandlerRun): Promise<void> {
    const verdicts = await this.#ask(run.claims, this.#remembers ? resultsOf(run) : undefined)
    if (verdicts !== undefined) this.#observe(verdicts)
  }

  #ask(
    claims: readonly Claim[],
    results: readonly (Result | undefined)[] | undefined,
  ): Promise<readonly MarkVerdict[] | undefined> {
    const { consumer, line } = this.#desk
    return line.ask(claims.length, () => consumer.store.mark(claims, results), faultOfMark) // mutant: settle-before-mark, release-after-unknown
  }

  #observe(verdicts: readonly MarkVerdict[]): void {
    let count = 0
    let late = 0
    for (const verdict of verdicts) {
      if (isMarked(verdict)) count++
      if (verdict === 'marked-late') late++
    }
    this.#desk.observe({ type: 'marks', count, late })
  }

  /** The store knows who has the message now. Claim it again and follow that verdict, if the delivery is still ours. */
  #leaseLost(task: Task): void {
    this.#desk.observe({ type: 'lease-lost', key: task.key, message: task.message })
    if (task.isCurrent) this.#desk.putBack([task])
    else this.#desk.drop(task, 'lease-lost')
  }
}

function resultsOf({ items, kept }: HandlerRun): (Result | undefined)[] {
  return items.map(() => kept)
}
