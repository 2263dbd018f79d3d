import { backoffMs, heldBackMs } from '../core/backoff.ts'
import { companyOf } from '../core/company.ts'
import { afterClaim, afterHandler } from '../core/decision.ts'
import type { MarkVerdict, Result } from '../core/record.ts'
import { LeaseLostError, TransactionError, describeError, hasCode } from '../errors.ts'
import type { OpenTransaction, ReleaseOptions, TransactionClaim } from '../ports/store.ts'
import { BEYOND_RETENTION, BeyondRetention } from './beyond-retention.ts'
import { causeOf } from './cause.ts'
import { DoubtQueue, type Apart } from './doubt-queue.ts'
import { Evidence } from './evidence.ts'
import { HandlerRun, type RunEnd, type RunItem } from './handler-run.ts'
import { decodePayloads } from './identify.ts'
import { remember, remembers } from './remember.ts'
import type { ClaimBatch, Desk, Runner } from './runner.ts'
import { Slots } from './slots.ts'
import { faultOfMark, faultOfRelease } from './store-answers.ts'
import type { Task } from './task.ts'
import { TimeLimit } from './time-limit.ts'

/** The result of a claim in a transaction: tasks that were granted, and tasks to claim again. */
interface Followed {
  readonly granted: readonly RunItem[]
  /** Granted, to be marked without a run. */
  readonly skipped: readonly RunItem[]
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
export class InboxRunner implements Runner {
  readonly #desk: Desk
  readonly #suspects: DoubtQueue
  readonly #beyond: BeyondRetention
  readonly #remembers: boolean
  readonly #running = new Set<HandlerRun>()
  readonly #stuck = new Set<HandlerRun>()
  readonly #limits = new Set<TimeLimit>()
  /** Tasks in a transaction that is open or being opened. */
  readonly #slots = new Slots()
  #open = 0
  #isWoken = false
  #isOver = false

  constructor(desk: Desk) {
    this.#desk = desk
    this.#beyond = new BeyondRetention(desk)
    this.#remembers = remembers(desk.consumer)
    this.#suspects = new DoubtQueue(desk, {
      slots: this.#slots,
      companyOf: () => 1,
      isLast: () => true,
      claim: (tasks) => this.#transact(tasks, { isQuiet: true }),
      onOpen: () => this.wake(),
    })
  }

  get stuck(): number {
    return this.#stuck.size
  }

  get apart(): Apart | undefined {
    return this.#suspects.apart
  }

  drain(): void {
    this.#suspects.drain()
  }

  abandon(): void {
    this.#isOver = true
    for (const limit of this.#limits) limit.giveUp()
  }

  wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    this.#desk.clock.nextTurn(() => {
      this.#isWoken = false
      this.#openTransactions()
    })
  }

  deliveriesLost(): void {
    // A running transaction goes on: effect and mark commit together, and the redelivery waits for it or joins it.
  }

  interrupt(reason: Error): void {
    // Handlers that wait for their turn in a transaction must not begin either.
    this.#isOver = true
    for (const run of this.#running) run.abort(reason)
  }

  #openTransactions(): void {
    const { consumer, lanes, line, isDraining } = this.#desk
    if (isDraining) return
    while (this.#open < consumer.transactions && !line.isDown && this.#suspects.isGateOpen) {
      const taken = lanes.takeBatch((task) => this.#companyOf(task))
      if (taken.length === 0) return
      const tasks: Task[] = []
      for (const task of taken) {
        if (task.isCurrent) tasks.push(task)
        else this.#desk.drop(task)
      }
      const [first] = tasks
      if (first === undefined) continue
      if (this.#needsQuiet(first)) this.#suspects.add(first)
      else void this.#transact(tasks, { isQuiet: false })
    }
  }

  /** How many tasks may share its transaction. */
  #companyOf({ alone, attempts }: Task): number {
    const { batchSize, transactions, maxAttempts, store } = this.#desk.consumer
    if (attempts === 0) return alone ? 1 : batchSize
    // A stream grants a message that was tried before only alone.
    if (alone || store.strategy === 'offsets') return 1
    const together = companyOf(attempts, { all: transactions * batchSize, maxAttempts })
    return Math.max(1, Math.min(batchSize, Math.floor(together / transactions)))
  }

  /** Another message must not cost this one its last attempt by killing the process, nor the other way round. */
  #needsQuiet({ isSuspect, attempts }: Task): boolean {
    return isSuspect && attempts === this.#desk.consumer.maxAttempts - 1 // mutant: last-attempt-beside-others
  }

  /** Resolves when the transaction is over, with any result. */
  async #transact(tasks: readonly Task[], how: { readonly isQuiet: boolean }): Promise<void> {
    this.#open++
    for (const task of tasks) this.#slots.take(task)
    try {
      await this.#claimAndHandle(tasks, how)
    } finally {
      this.#open--
      for (const task of tasks) this.#slots.free(task)
      this.#suspects.slotsFreed()
      this.wake()
    }
  }

  async #claimAndHandle(tasks: readonly Task[], { isQuiet }: { readonly isQuiet: boolean }): Promise<void> {
    // Claim `alone` only if every task is known to have attempts: for others the store must first say how many they
    // had.
    const batch = await this.#desk.claim(
      tasks,
      tasks.every(({ attempts }) => attempts > 0),
    )
    if (batch === undefined) {
      for (const task of tasks) this.#desk.drop(task)
      return
    }
    const { granted, skipped, again, mustStartOver } = this.#follow(tasks, batch, isQuiet)
    if (mustStartOver) {
      const held = [...granted, ...skipped]
      await this.#release(held, true)
      const back = new Set([...held.map(({ task }) => task), ...again])
      return this.#desk.putBack(tasks.filter((task) => back.has(task)))
    }
    this.#desk.putBack(again)
    if (granted.length + skipped.length === 0) return
    // The last check before effects begin: a stop or a rebalance may have happened meanwhile.
    const mayBegin = !this.#desk.isDraining && granted.every(({ task }) => task.isCurrent)
    if (!mayBegin) return this.#rollBack([...granted, ...skipped], true)

    const limit = new TimeLimit(this.#desk)
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
  #follow(tasks: readonly Task[], { answers, horizon }: ClaimBatch, isQuiet: boolean): Followed {
    const granted: RunItem[] = []
    const skipped: RunItem[] = []
    const again: Task[] = []
    const waitingLanes = new Set<string | undefined>()
    let mustStartOver = false
    for (const [index, task] of tasks.entries()) {
      const answer = answers[index]
      if (answer === undefined) throw new TypeError('a store must answer each item of a claim (inbox-runner.follow)')
      const isBeyond = this.#beyond.includes(task, answer, horizon)
      const step = afterClaim(answer, this.#desk.consumer, isBeyond)
      switch (step.next) {
        case 'handle':
        case 'reconcile':
          if ('claim' in answer) {
            granted.push({ task, claim: answer.claim, payload: undefined, doubt: false })
            if (answer.attempt - 1 > task.attempts) {
              task.attempts = answer.attempt - 1
              task.isSuspect = true
              mustStartOver ||= tasks.length > this.#companyOf(task) || (!isQuiet && this.#needsQuiet(task))
            }
          }
          mustStartOver ||= task.lane !== undefined && waitingLanes.has(task.lane)
          break
        case 'skip':
          if ('claim' in answer) skipped.push({ task, claim: answer.claim, payload: undefined, doubt: false })
          break
        case 'set-aside':
          if (!('claim' in answer)) break
          if (tasks.length > 1) {
            task.alone = true
            granted.push({ task, claim: answer.claim, payload: undefined, doubt: false })
            mustStartOver = true
          } else {
            const attempts = answer.attempt - 1
            const detail = isBeyond ? BEYOND_RETENTION : `${attempts} attempts were started`
            void this.#desk.setAside(task, answer.claim, step.as, { reason: step.reason, detail, attempts })
          }
          break
        case 'settle-duplicate':
          if (answer.verdict === 'done') this.#desk.duplicate(task, Evidence.ofDone(answer), answer)
          break
        case 'claim-alone':
          task.attempts = step.attempts ?? 1
          task.isSuspect = task.attempts > 0
          again.push(task)
          waitingLanes.add(task.lane) // mutant: suspect-overtakes-its-lane
          break
        case 'wait':
          waitingLanes.add(task.lane)
          // The owner that is busy with it may count more attempts. A new claim does not hold up others until the
          // message is free.
          task.attempts = 0
          task.isSuspect = false
          // The lock timeout does not say which row was held, so every key of a batch answers `busy`. Alone, each finds
          // out for itself.
          if (tasks.length === 1) this.#desk.awaitOwner(task, step.waitMs)
          else {
            task.alone = true
            again.push(task)
          }
          break
        case 'dead-letter':
          void this.#desk.deadLetterAgain(task, step)
          break
        case 'rewind':
          this.#desk.rewind(task)
          break
      }
    }
    return { granted, skipped, again, mustStartOver }
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
    const decoding = decodePayloads(granted, this.#desk.consumer)
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
        await this.#desk.setAside(item.task, item.claim, 'given-up', { ...why, attempts: item.claim.attempt - 1 })
        return undefined
      }
      item.task.alone = true
    }
    await this.#rollBack([...granted, ...skipped], true)
    return undefined
  }

  /** A schema gets the same time limit as a handler. */
  #inTime<T>(answer: Promise<T>, limit: TimeLimit): Promise<T | undefined> {
    const run = new HandlerRun([])
    run.startedAt = this.#desk.clock.monotonic()
    return limit.wait<T>(run, (onEnd) => void answer.then(onEnd))
  }

  /** `skipped` items are marked with the others, without a run. */
  async #handle(run: readonly RunItem[], skipped: readonly RunItem[], limit: TimeLimit): Promise<void> {
    const { consumer, line } = this.#desk
    const items = skipped.length === 0 ? run : [...run, ...skipped]
    // No handler of it began, so the attempt does not count.
    if (this.#isOver) return this.#rollBack(items, true)
    const end = await this.#runAll(run, limit)
    // The writes of a remembered failure are rolled back and only its mark is committed, so its transaction must hold
    // nothing else.
    const mayMark = end.result === 'handled' || (end.result === 'remembered' && items.length === 1)
    if (!mayMark) return this.#failed(items, end)
    const { results } = end
    const claims = items.map(({ claim }) => claim)
    let refusal: unknown
    const mark = async (): Promise<readonly MarkVerdict[]> => {
      try {
        return await consumer.store.mark(claims, results)
      } catch (error) {
        if (!hasCode(error, 'FLOATING_QUERY') && !hasCode(error, 'COMMIT_REFUSED')) throw error // mutant: commit-unknown-as-failure
        // The answer is known: nothing was committed, and asking again would not change it.
        refusal = error
        return claims.map(() => 'refused-busy')
      }
    }
    const verdicts = await line.ask(claims.length, mark, faultOfMark)
    if (refusal !== undefined) return this.#failed(items, { ...end, result: 'failed', error: refusal })
    this.#marked(items, verdicts, { ran: run.length, results })
  }

  #marked(
    items: readonly RunItem[],
    verdicts: readonly MarkVerdict[] | undefined,
    { ran, results }: Pick<TransactionEnd, 'results'> & { readonly ran: number },
  ): void {
    if (verdicts === undefined) {
      for (const { task } of items) this.#desk.drop(task)
      return
    }
    const again: Task[] = []
    for (const [index, { task, claim }] of items.entries()) {
      const evidence = Evidence.ofMark(verdicts[index])
      if (evidence === undefined) again.push(task)
      else if (index < ran) this.#desk.handled(task, evidence, claim, results?.[index])
      else this.#desk.duplicate(task, evidence, { reason: 'beyond-retention' })
    }
    this.#desk.observe({ type: 'marks', count: items.length - again.length, late: 0 })
    this.#desk.putBack(again)
  }

  /** Runs all handlers of a transaction, one after the other. */
  async #runAll(items: readonly RunItem[], limit: TimeLimit): Promise<TransactionEnd> {
    if (items.length === 0) return { result: 'handled' }
    const runs = this.#desk.consumer.handleBatch === undefined ? items.map((item) => [item]) : [items]
    const results: (Result | undefined)[] | undefined = this.#remembers ? [] : undefined
    let isInterrupted = false
    for (const together of runs) {
      if (this.#isOver) return { result: 'failed', isInterrupted: true }
      const end = await this.#run(together, limit)
      results?.push(end.kept)
      if (end.result !== 'handled') return { ...end, results }
      isInterrupted ||= end.isInterrupted === true
    }
    return { result: 'handled', isInterrupted, results }
  }

  async #run(items: readonly RunItem[], limit: TimeLimit): Promise<TransactionEnd> {
    const [first] = items
    const transaction = first && transactionOf(first)
    if (transaction === undefined) throw new TypeError('an inbox must give a transaction (inbox-runner.run)')
    const lent = transaction.lend()
    const run = new HandlerRun(items)
    run.onAbort = () => lent.revoke()
    this.#running.add(run)
    const { consumer, clock } = this.#desk
    const end = await limit.wait<RunEnd>(run, (onEnd) => {
      run.start(consumer, lent.tx, clock.monotonic(), (_, ended) => {
        this.#stuck.delete(run)
        onEnd(ended)
      })
    })
    this.#running.delete(run)
    const pending = lent.revoke()
    const { isInterrupted } = run
    if (end === undefined) {
      this.#detach(run)
      const error = new LeaseLostError('HANDLER_TIMEOUT', 'the handler did not end when aborted')
      return { result: 'unknown', error, isInterrupted }
    }
    const remembered = this.#remembers ? remember(run, end, this.#desk) : end
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

  #detach(run: HandlerRun): void {
    run.isDetached = true
    if (!run.hasEnded) this.#stuck.add(run)
    for (const { task, claim } of run.items) {
      this.#desk.observe({ type: 'stuck', key: task.key, message: task.message, attempt: claim.attempt })
    }
  }

  /** Nothing was committed, so nothing is in doubt. Here `unknown` is treated as an ordinary failure. */
  async #failed(items: readonly RunItem[], { result, error, isInterrupted = false }: TransactionEnd): Promise<void> {
    const [first, ...others] = items
    if (first === undefined) return
    if (isInterrupted) return this.#rollBack(items, false) // mutant: stop-refunds
    for (const { task } of items) task.alone = true
    const { consumer, entropy, isDraining } = this.#desk
    // Each message runs again alone, in the same attempt. If another process will run them, the attempt counts:
    // otherwise nothing would ever count a message that makes every batch fail.
    if (others.length > 0) return this.#rollBack(items, !isDraining && items.every(({ task }) => task.isCurrent))
    const { task, claim } = first
    const step = afterHandler(
      result === 'unknown' ? 'failed' : result,
      { attempt: claim.attempt, doubt: false },
      consumer,
    )
    // A deadlock victim or a lost backend: the attempt is given back, even the last one.
    const losses = transactionOf(first)?.lossesInARow ?? 0
    // The attempt ended in this process, so this message did not kill it.
    task.attempts = losses === 0 ? claim.attempt : claim.attempt - 1
    task.isSuspect = false
    if (step.next === 'set-aside' && losses === 0) {
      const why = { reason: step.reason, detail: describeError(error), error, attempts: claim.attempt }
      await this.#desk.setAside(task, claim, step.as, why)
      return
    }
    const { attempt } = claim
    const elsewhereMs = this.#desk.retryDelayMs(attempt)
    const retryInMs = elsewhereMs ?? backoffMs(Math.max(attempt, losses), consumer.backoff, entropy.fraction())
    task.firstFailureAt ??= this.#desk.clock.now()
    this.#desk.observe({ type: 'attempt-failed', key: task.key, message: task.message, attempt, error, retryInMs })
    const cause = causeOf({ detail: describeError(error), error }, task.message)
    await this.#release(items, false, {
      delayMs: elsewhereMs === undefined ? retryInMs : heldBackMs(elsewhereMs),
      cause,
    })
    if (elsewhereMs === undefined) return this.#desk.putBack([task], retryInMs)
    void this.#desk.retryLater(task, { why: 'failed', attempts: attempt, delayMs: elsewhereMs, error })
  }

  async #rollBack(items: readonly RunItem[], refund: boolean): Promise<void> {
    await this.#release(items, refund)
    this.#desk.putBack(items.map(({ task }) => task))
  }

  async #release(
    items: readonly RunItem[],
    refund: boolean,
    later: Pick<ReleaseOptions, 'delayMs' | 'cause'> = {},
  ): Promise<void> {
    const claims = items.map(({ claim }) => claim)
    const { line, consumer } = this.#desk
    const how = { ...later, refund, doubt: false }
    await line.ask(claims.length, () => consumer.store.release(claims, how), faultOfRelease)
  }
}

function transactionOf({ claim }: RunItem): OpenTransaction<unknown> | undefined {
  return 'transaction' in claim ? (claim as TransactionClaim<unknown>).transaction : undefined
}
