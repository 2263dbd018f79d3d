import { companyOf } from '../../core/company.ts'
import { afterHandler } from '../../core/decision.ts'
import type { Result } from '../../core/record.ts'
import { isFailure } from '../../core/result.ts'
import { LeaseLostError, TransactionError, describeError } from '../../foundation/errors.ts'
import type { OpenTransaction, ReleaseOptions, TransactionClaim } from '../../ports/store.ts'
import { claimsOf } from '../store/claims.ts'
import type { ClaimStep, GivenBack, Granted } from '../store/claim-step.ts'
import { endOfSkip } from '../store/marks.ts'
import { DROPPED, RERUN } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import { failedAttempt } from '../handling/failed-attempt.ts'
import { HandlerRun, type RunEnd, type RunItem } from '../handling/handler-run.ts'
import { decodePayloads } from '../handling/decode-payloads.ts'
import { remember, remembers } from '../handling/remember.ts'
import { Runner, tasksOf } from './runner.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'
import { TimeLimit } from '../handling/time-limit.ts'
import { TimedRun } from '../handling/timed-run.ts'
import { keptWithTrace } from '../handling/traces.ts'

const REFUND: ReleaseOptions = { refund: true, doubt: false }
const NO_REFUND: ReleaseOptions = { refund: false, doubt: false }

/** The result of a claim in a transaction: tasks that were granted, and tasks to claim again. */
interface Followed {
  readonly granted: readonly RunItem[]
  /** Granted, to be marked without a run. */
  readonly skipped: readonly Granted[]
  /** Some of their keys were granted. */
  readonly givenBack: readonly GivenBack[]
  readonly again: readonly Task[]
  readonly mustStartOver: boolean
}

/** How all handlers of a transaction ended. */
interface TransactionEnd extends RunEnd {
  /** The stop deadline ended it. Its attempt counts, and the next claim decides what follows. */
  readonly isInterrupted?: boolean
  /** Results to keep with the marks, in the order of the items. */
  readonly results?: readonly (Result | undefined)[] | undefined
}

/**
 * Runs tasks in transactions: claim, effects and mark of a batch commit together or not at all. It is optimistic: a
 * batch is one transaction without savepoints, and its handlers run one after the other. When one fails, everything is
 * rolled back and each message runs again alone, in the same attempt. Several transactions run in parallel. A message
 * with an attempt whose end nobody saw may have killed a process. It runs in a smaller batch, with other such messages,
 * smaller with each attempt, and its last attempt runs beside nothing. So the message that kills the process is found,
 * and no other is given up because of it (model/promela/suspects.pml).
 */
export class InboxRunner extends Runner {
  readonly #remembers: boolean
  readonly #running = new Set<HandlerRun>()
  readonly #limits = new Set<TimeLimit>()
  #open = 0
  #isOver = false

  constructor(services: Services) {
    super(services)
    this.#remembers = remembers(services.consumer)
  }

  abandon(): void {
    this.#isOver = true
    for (const limit of this.#limits) limit.giveUp()
  }

  deliveriesLost(): void {
    // A running transaction goes on: effect and mark commit together, and the redelivery waits for it or joins it.
  }

  interrupt(reason: Error): void {
    // Handlers that wait for their turn in a transaction must not begin either.
    this.#isOver = true
    for (const run of this.#running) run.abort(reason)
  }

  protected get hasWork(): boolean {
    return this.services.lanes.hasReady
  }

  protected goOn(): void {
    const { consumer, lanes, store, isDraining } = this.services
    if (isDraining) return
    while (this.#open < consumer.transactions && !store.isDown && this.doubts.isGateOpen) {
      const taken = lanes.takeBatch((task) => this.#companyOf(task))
      if (taken.length === 0) return
      const tasks = this.stillOurs(taken)
      const [first] = tasks
      if (first === undefined) continue
      if (this.#needsQuiet(first)) this.doubts.add(first)
      else void this.#transact(tasks, { isQuiet: false })
    }
  }

  /** Only last attempts run apart, each beside nothing. */
  protected companyApart(): number {
    return 1
  }

  protected isLastAttempt(): boolean {
    return true
  }

  protected runApart(tasks: readonly Task[]): Promise<void> {
    return this.#transact(tasks, { isQuiet: true })
  }

  /** How many tasks may share its transaction. */
  #companyOf({ alone, history: { attempts } }: Task): number {
    const { batchSize, transactions, maxAttempts, store } = this.services.consumer
    if (attempts === 0) return alone ? 1 : batchSize
    // A stream grants a message that was tried before only alone.
    if (alone || store.strategy === 'offsets') return 1
    const together = companyOf(attempts, { all: transactions * batchSize, maxAttempts })
    return Math.max(1, Math.min(batchSize, Math.floor(together / transactions)))
  }

  /** Another message must not cost this one its last attempt by killing the process, nor the other way round. */
  #needsQuiet({ history: { kind, attempts } }: Task): boolean {
    return kind === 'suspect' && attempts === this.services.consumer.maxAttempts - 1 // mutant: last-attempt-beside-others
  }

  /** Resolves when the transaction is over, with any result. */
  async #transact(tasks: readonly Task[], how: { readonly isQuiet: boolean }): Promise<void> {
    this.#open++
    for (const task of tasks) this.permits.acquire(task)
    try {
      await this.#claimAndHandle(tasks, how)
    } finally {
      this.#open--
      this.wake()
    }
  }

  async #claimAndHandle(tasks: readonly Task[], { isQuiet }: { readonly isQuiet: boolean }): Promise<void> {
    // Claim `alone` only if every task is known to have attempts: for others the store must first say how many they
    // had.
    const areTried = tasks.every(({ history }) => history.kind !== 'untried')
    const batch = await this.services.store.claim(tasks, areTried)
    if (batch === undefined) return this.endAll(tasks, DROPPED)
    const { granted, skipped, givenBack, again, mustStartOver } = this.#follow(tasks, batch.steps, isQuiet)
    const held = [...granted, ...skipped]
    if (mustStartOver) {
      const claims = [...claimsOf(held), ...givenBack.flatMap((step) => step.claims)]
      await this.services.store.release(claims, REFUND)
      this.endAll(tasksOf(held), RERUN)
      for (const step of givenBack) this.#withoutClaim(step)
    }
    this.endAll(again, RERUN)
    if (mustStartOver || held.length === 0) return
    // The last check before effects begin: a stop or a rebalance may have happened meanwhile.
    const mayBegin = !this.services.isDraining && granted.every(({ task }) => task.isCurrent)
    if (!mayBegin) return this.#rollBack(held, true)

    const limit = new TimeLimit(this.services)
    this.#limits.add(limit)
    try {
      const items = await this.#decode(granted, skipped, limit)
      if (items !== undefined) await this.#handle(items, skipped, limit)
    } finally {
      limit.end()
      this.#limits.delete(limit)
    }
  }

  /**
   * Ends the tasks that were not granted. If a task must be claimed again, tasks behind it in its lane must not run
   * before it. A task to be parked cannot share a transaction with others. A granted task may turn out to have more
   * attempts than its batch size allows. In these cases nothing begins, and all tasks go back in order.
   */
  #follow(tasks: readonly Task[], steps: readonly ClaimStep[], isQuiet: boolean): Followed {
    const granted: RunItem[] = []
    const skipped: Granted[] = []
    const givenBack: GivenBack[] = []
    const again: Task[] = []
    const waitingLanes = new Set<string | undefined>()
    let mustStartOver = false
    for (const [index, task] of tasks.entries()) {
      const step = steps[index]
      switch (step?.next) {
        case undefined:
          break
        case 'handle':
        case 'reconcile': {
          const attempts = step.claim.attempt - 1
          granted.push(step)
          if (attempts > task.history.attempts) {
            task.tried(attempts, false)
            mustStartOver ||= tasks.length > this.#companyOf(task) || (!isQuiet && this.#needsQuiet(task))
          }
          mustStartOver ||= task.lane !== undefined && waitingLanes.has(task.lane)
          break
        }
        case 'skip':
          skipped.push(step)
          break
        case 'give-back':
          // The others of its transaction cannot commit without its rows.
          givenBack.push(step)
          mustStartOver = true
          break
        case 'set-aside':
          if (tasks.length > 1) {
            task.alone = true
            granted.push({ task, claim: step.claim, others: step.others, payload: undefined, doubt: false })
            mustStartOver = true
          } else void this.setAside({ task, claim: step.claim, others: step.others }, step.as, step.why)
          break
        case 'claim-alone':
          task.tried(step.attempts ?? 1, false)
          again.push(task)
          waitingLanes.add(task.lane) // mutant: suspect-overtakes-its-lane
          break
        case 'end':
          if (step.ending.end === 'wait') {
            waitingLanes.add(task.lane)
            // The owner that is busy with it may count more attempts. A new claim does not hold up others until the
            // message is free.
            task.tried(0, false)
            // The lock timeout does not say which row was held, so every key of a batch answers `busy`. Alone, each
            // finds out for itself.
            task.alone ||= tasks.length > 1
            if (tasks.length > 1) {
              again.push(task)
              break
            }
          }
          this.end(task, step.ending)
          break
      }
    }
    return { granted, skipped, givenBack, again, mustStartOver }
  }

  /** Its keys are given back. It is claimed again alone, because others must not start over with it. */
  #withoutClaim({ task, afterwards }: GivenBack): void {
    task.alone = true
    if (afterwards.next === 'claim-alone') task.tried(afterwards.attempts ?? 1, false)
    else if (afterwards.ending.end === 'wait') task.tried(0, false)
    this.end(task, afterwards.next === 'end' ? afterwards.ending : RERUN)
  }

  /**
   * A message that cannot be decoded is set aside in a transaction of its own, because the row must not commit with the
   * others.
   */
  async #decode(
    granted: readonly RunItem[],
    skipped: readonly RunItem[],
    limit: TimeLimit,
  ): Promise<readonly RunItem[] | undefined> {
    const decoding = decodePayloads(granted, this.services.consumer)
    const undecoded = decoding instanceof Promise ? await this.#inTime(decoding, limit) : decoding
    if (undecoded === undefined) {
      await this.#failed([...granted, ...skipped], {
        result: 'failed',
        error: new LeaseLostError('HANDLER_TIMEOUT', 'the schema did not answer in time'),
        isInterrupted: this.#isOver,
      })
      return undefined
    }
    if (undecoded.length === 0) return granted
    for (const { item, ...why } of undecoded) {
      if (granted.length + skipped.length === 1) {
        await this.setAside(item, 'given-up', { ...why, attempts: item.claim.attempt - 1 })
        return undefined
      }
      item.task.alone = true
    }
    await this.#rollBack([...granted, ...skipped], true)
    return undefined
  }

  /** A schema gets the same time limit as a handler. */
  #inTime<T>(answer: Promise<T>, limit: TimeLimit): Promise<T | undefined> {
    const run = new TimedRun().begin(this.services.clock.monotonic())
    return limit.wait<T>(run, (onEnd) => void answer.then(onEnd))
  }

  /** `skipped` items are marked with the others, without a run. */
  async #handle(run: readonly RunItem[], skipped: readonly Granted[], limit: TimeLimit): Promise<void> {
    const items = skipped.length === 0 ? run : [...run, ...skipped]
    // No handler of it began, so the attempt does not count.
    if (this.#isOver) return this.#rollBack(items, true)
    const end = await this.#runAll(run, limit)
    // The writes of a remembered failure are rolled back and only its mark is committed, so its transaction must hold
    // nothing else.
    const mayMark = end.result === 'handled' || (end.result === 'remembered' && items.length === 1)
    if (!mayMark) return this.#failed(items, end)
    const results = withResultsOf(skipped, run.length, end.results)
    const verdicts = await this.services.store.commit(items, results)
    if (verdicts === undefined) return this.endAll(tasksOf(items), DROPPED)
    if ('error' in verdicts) return this.#failed(items, { ...end, result: 'failed', error: verdicts.error })
    this.services.endTogether(() => {
      for (const [index, { task, claim }] of items.entries()) {
        const evidence = Evidence.ofMark(verdicts[index])
        const skip = skipped[index - run.length]
        if (evidence === undefined) this.end(task, RERUN)
        else if (skip === undefined) this.end(task, { end: 'marked', evidence, claim, result: results?.[index] })
        else this.end(task, endOfSkip(skip, evidence))
      }
    })
    this.services.store.observeMarks(verdicts)
  }

  /** Runs all handlers of a transaction, one after the other. */
  async #runAll(items: readonly RunItem[], limit: TimeLimit): Promise<TransactionEnd> {
    if (items.length === 0) return { result: 'handled' }
    const runs = this.services.consumer.handleBatch === undefined ? items.map((item) => [item]) : [items]
    const kept: (Result | undefined)[] = []
    // An array without a result says so to the store too, but most consumers keep nothing.
    const results = (): TransactionEnd['results'] => (kept.some((one) => one !== undefined) ? kept : undefined)
    let isInterrupted = false
    for (const together of runs) {
      if (this.#isOver) return { result: 'failed', isInterrupted: true }
      const end = await this.#run(together, limit)
      for (const _ of together) kept.push(end.kept)
      if (end.result !== 'handled') return { ...end, results: results() }
      isInterrupted ||= end.isInterrupted === true
    }
    return { result: 'handled', isInterrupted, results: results() }
  }

  async #run(items: readonly RunItem[], limit: TimeLimit): Promise<TransactionEnd> {
    const [first] = items
    const transaction = first && transactionOf(first)
    if (transaction === undefined) throw new TypeError('an inbox must give a transaction (inbox-runner.run)')
    const lent = transaction.lend()
    const run = new HandlerRun(items, undefined)
    run.onAbort = () => lent.revoke()
    this.#running.add(run)
    const { consumer, clock, traces } = this.services
    traces?.begin(run)
    const end = await limit.wait<RunEnd>(run, (onEnd) => {
      run.start(consumer, lent.tx, clock.monotonic(), (_, ended) => {
        this.stuckRuns.delete(run)
        onEnd(ended)
      })
    })
    this.#running.delete(run)
    const pending = lent.revoke()
    const { isInterrupted } = run
    if (end === undefined) {
      this.letGo(run, items)
      const error = new LeaseLostError('HANDLER_TIMEOUT', 'the handler did not end when aborted')
      return { result: 'unknown', error, isInterrupted }
    }
    const remembered = this.#withKept(run, this.#remembers ? remember(run, end, this.services) : end)
    this.ran(run, remembered)
    const { result } = remembered
    if ((result === 'handled' || result === 'remembered') && pending > 0) {
      const error = new TransactionError(
        'FLOATING_QUERY',
        `the handler ended with ${pending} of its queries not awaited`,
        { cause: end.error },
      )
      return { result: 'failed', error, isInterrupted }
    }
    return isInterrupted ? { ...remembered, isInterrupted } : remembered
  }

  /** A position has no room for a trace. */
  #withKept(run: HandlerRun, end: RunEnd): RunEnd {
    if (run.trace?.traceparent === undefined || this.services.consumer.store.strategy === 'offsets') return end
    return { ...end, kept: keptWithTrace(end.kept, run.trace) }
  }

  /** Nothing was committed, so nothing is in doubt. Here `unknown` is treated as an ordinary failure. */
  async #failed(items: readonly RunItem[], { result, error, isInterrupted = false }: TransactionEnd): Promise<void> {
    const [first, ...others] = items
    if (first === undefined) return
    if (isInterrupted) return this.#rollBack(items, false) // mutant: stop-refunds
    for (const { task } of items) task.alone = true
    const { consumer, isDraining } = this.services
    // Each message runs again alone, in the same attempt. If another process will run them, the attempt counts:
    // otherwise nothing would ever count a message that makes every batch fail.
    if (others.length > 0) return this.#rollBack(items, !isDraining && items.every(({ task }) => task.isCurrent))
    const { task, claim } = first
    const { attempt } = claim
    const step = afterHandler(result === 'unknown' ? 'failed' : result, { attempt, doubt: false }, consumer)
    // A deadlock victim or a lost backend: the attempt is given back, even the last one.
    const losses = transactionOf(first)?.lossesInARow ?? 0
    // The attempt ended in this process, so this message did not kill it.
    task.tried(losses === 0 ? attempt : attempt - 1, true)
    if (step.next === 'set-aside' && losses === 0) {
      return this.setAside(first, step.as, {
        reason: step.reason,
        detail: describeError(error),
        error,
        attempts: attempt,
      })
    }
    const { release, ending } = failedAttempt(this.services, first, error, losses)
    await this.release(items, { ...NO_REFUND, ...release })
    this.end(task, ending)
  }

  async #rollBack(items: readonly RunItem[], refund: boolean): Promise<void> {
    await this.release(items, refund ? REFUND : NO_REFUND)
    this.endAll(tasksOf(items), RERUN)
  }
}

/** A duplicate by another key has the same result under all. A failure would have to be marked alone. */
function withResultsOf(
  skipped: readonly Granted[],
  at: number,
  results: TransactionEnd['results'],
): TransactionEnd['results'] {
  const own = skipped.map(({ duplicateOf }) => duplicateOf?.result)
  if (own.every((result) => result === undefined || isFailure(result))) return results
  const before = results ?? Array.from({ length: at }, () => undefined)
  return [...before, ...own.map((result) => (result === undefined || isFailure(result) ? undefined : result))]
}

function transactionOf({ claim }: RunItem): OpenTransaction<unknown> | undefined {
  return 'transaction' in claim ? (claim as TransactionClaim<unknown>).transaction : undefined
}
