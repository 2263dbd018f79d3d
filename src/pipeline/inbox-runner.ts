import { backoffMs } from '../core/backoff.ts'
import { afterClaim, afterHandler } from '../core/decision.ts'
import type { MarkVerdict } from '../core/record.ts'
import { LeaseLostError, TransactionError, describeError, hasCode } from '../errors.ts'
import { HandlerRun, type RunEnd, type RunItem } from './handler-run.ts'
import { decodePayload } from './identify.ts'
import type { ClaimBatch, Desk, Runner } from './runner.ts'
import type { Task } from './task.ts'

/** A claim is asked for again this often while another transaction holds the row. */
const BUSY_POLL_MS = 1_000

type Granted = Omit<RunItem, 'payload'>

/** How a transaction full of handlers ended. */
interface TransactionEnd extends RunEnd {
  /** Not the handler failed: the delivery is gone or the process stops, so the attempt is given back. */
  readonly isInterrupted?: boolean
}

/**
 * Runs tasks in transactions: claim, effects and mark of a batch commit together, or not at all. Optimistic: a batch is one
 * transaction without savepoints, its handlers run in turn, and when one fails everything is rolled back and each message
 * runs again alone, which belongs to the same attempt. Several transactions run beside each other.
 */
export class InboxRunner implements Runner {
  readonly #desk: Desk
  readonly #running = new Set<HandlerRun>()
  readonly #stuck = new Set<HandlerRun>()
  #open = 0
  #isWoken = false

  constructor(desk: Desk) {
    this.#desk = desk
  }

  get stuck(): number {
    return this.#stuck.size
  }

  drain(): void {}

  wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    this.#desk.clock.nextTurn(() => {
      this.#isWoken = false
      this.#openTransactions()
    })
  }

  abort(which: (task: Task) => boolean, reason: Error): void {
    for (const run of this.#running) {
      if (run.items.every(({ task }) => which(task))) run.abort(reason)
    }
  }

  #openTransactions(): void {
    const { consumer, lanes, line } = this.#desk
    while (this.#open < consumer.transactions && !this.#desk.isDraining && !line.isDown) {
      const taken = lanes.takeBatch(consumer.batchSize)
      if (taken.length === 0) return
      const tasks: Task[] = []
      for (const task of taken) {
        if (task.isCurrent) tasks.push(task)
        else this.#desk.drop(task)
      }
      if (tasks.length === 0) continue
      this.#open++
      void this.#transact(tasks).finally(() => {
        this.#open--
        this.wake()
      })
    }
  }

  async #transact(tasks: readonly Task[]): Promise<void> {
    const alone = tasks.length === 1 && tasks[0]?.alone === true
    const batch = await this.#desk.claim(tasks, alone)
    if (batch === undefined) {
      for (const task of tasks) this.#desk.drop(task)
      return
    }
    const granted = this.#follow(tasks, batch, alone)
    if (granted.length === 0) return
    if (this.#desk.isDraining) return this.#rollBack(granted, true)
    const items = await this.#decode(granted)
    if (items !== undefined) await this.#handle(items)
  }

  /** Ends the tasks that were granted nothing; returns the others, in the order of their lanes. */
  #follow(tasks: readonly Task[], { answers }: ClaimBatch, alone: boolean): Granted[] {
    const { consumer, entropy } = this.#desk
    const granted: Granted[] = []
    const again: Task[] = []
    for (const [index, task] of tasks.entries()) {
      const answer = answers[index]
      if (answer === undefined) throw new TypeError('a store must answer each item of a claim (inbox-runner.follow)')
      const step = afterClaim(answer, consumer)
      switch (step.next) {
        case 'handle':
        case 'reconcile':
          if ('claim' in answer) granted.push({ task, claim: answer.claim, doubt: false })
          break
        case 'set-aside':
          if ('claim' in answer) {
            const detail = `${answer.attempt - 1} attempts were started`
            void this.#desk.setAside(task, answer.claim, step.as, { reason: step.reason, detail })
          }
          break
        case 'settle-duplicate':
          this.#desk.conclude(task, 'duplicate')
          break
        case 'claim-alone':
          task.alone = true
          again.push(task)
          break
        case 'wait':
          // In a batch nobody can say which row was waited for: alone, each finds out for itself.
          if (alone || tasks.length === 1) {
            this.#desk.putBack([task], Math.min(step.waitMs, BUSY_POLL_MS) + Math.ceil(entropy.fraction() * 100))
          } else {
            task.alone = true
            again.push(task)
          }
          break
        case 'dead-letter':
          void this.#desk.deadLetter(task, step)
          break
      }
    }
    this.#desk.putBack(again)
    return granted
  }

  /** What cannot be decoded is set aside, alone: its row must not go into the transaction of the others. */
  async #decode(granted: readonly Granted[]): Promise<readonly RunItem[] | undefined> {
    const items: RunItem[] = []
    let isSplit = false
    for (const item of granted) {
      const decoding = decodePayload(item.task.message, this.#desk.consumer)
      const decoded = decoding instanceof Promise ? await decoding : decoding
      if (decoded.ok) items.push({ ...item, payload: decoded.payload })
      else if (granted.length === 1) {
        await this.#desk.setAside(item.task, item.claim, 'given-up', decoded)
        return undefined
      } else {
        item.task.alone = true
        isSplit = true
      }
    }
    if (!isSplit) return items
    await this.#rollBack(granted, true)
    return undefined
  }

  async #handle(items: readonly RunItem[]): Promise<void> {
    const { consumer, line } = this.#desk
    const end = await this.#runAll(items)
    if (end.result !== 'handled') return this.#failed(items, end)
    const claims = items.map(({ claim }) => claim)
    const commit = await line.ask(async () => {
      try {
        return { verdicts: await consumer.store.mark(claims) }
      } catch (error) {
        // Known, not unknown: nothing was committed, and asking again would not change it.
        if (hasCode(error, 'FLOATING_QUERY') || hasCode(error, 'COMMIT_REFUSED')) return { refusal: error }
        throw error
      }
    })
    if (commit?.refusal !== undefined) return this.#failed(items, { result: 'failed', error: commit.refusal })
    this.#marked(items, commit?.verdicts)
  }

  #marked(items: readonly RunItem[], verdicts: readonly MarkVerdict[] | undefined): void {
    if (verdicts === undefined) {
      for (const { task } of items) this.#desk.drop(task)
      return
    }
    const again: Task[] = []
    for (const [index, { task, claim }] of items.entries()) {
      const verdict = verdicts[index]
      if (verdict === 'marked' || verdict === 'already-marked') this.#desk.conclude(task, 'handled', claim)
      else again.push(task)
    }
    this.#desk.observe({ type: 'marks', count: items.length - again.length, late: 0 })
    this.#desk.putBack(again)
  }

  /** All handlers of a transaction, in turn, under one timer. */
  async #runAll(items: readonly RunItem[]): Promise<TransactionEnd> {
    const { consumer } = this.#desk
    const runs = consumer.handleBatch === undefined ? items.map((item) => [item]) : [items]
    const watch = new TimeLimit(this.#desk)
    try {
      for (const together of runs) {
        const end = await this.#run(together, watch)
        if (end.result !== 'handled') return end
      }
      return { result: 'handled' }
    } finally {
      watch.end()
    }
  }

  async #run(items: readonly RunItem[], limit: TimeLimit): Promise<TransactionEnd> {
    const transaction = items[0]?.claim.transaction
    if (transaction === undefined) throw new TypeError('an inbox must give a transaction (inbox-runner.run)')
    const lent = transaction.lend()
    const run = new HandlerRun(items, Number.POSITIVE_INFINITY)
    this.#running.add(run)
    limit.watch(run)
    const running = run.run(this.#desk.consumer, lent.tx, this.#desk.clock.monotonic())
    const end = await Promise.race([running, limit.stuck])
    this.#running.delete(run)
    const pending = lent.revoke()
    if (end === undefined) {
      this.#detach(run, running)
      return { result: 'unknown', error: new LeaseLostError('HANDLER_TIMEOUT', 'the handler did not end when aborted') }
    }
    if (end.result === 'handled' && pending > 0) {
      const error = new TransactionError(
        'FLOATING_QUERY',
        `the handler ended with ${pending} of its queries not awaited`,
      )
      return { result: 'failed', error }
    }
    return { ...end, isInterrupted: run.isInterrupted }
  }

  #detach(run: HandlerRun, running: Promise<RunEnd>): void {
    run.isDetached = true
    this.#stuck.add(run)
    for (const { task } of run.items) this.#desk.observe({ type: 'stuck', key: task.key })
    void running.then(() => this.#stuck.delete(run))
  }

  /** Nothing was committed, so nothing is in doubt, whatever the handler said: `unknown` is a plain failure here. */
  async #failed(items: readonly RunItem[], { result, error, isInterrupted = false }: TransactionEnd): Promise<void> {
    const [first, ...others] = items
    if (first === undefined) return
    if (isInterrupted) return this.#rollBack(items, true)
    if (others.length > 0) {
      for (const { task } of items) task.alone = true
      return this.#rollBack(items, true)
    }
    const { consumer, entropy } = this.#desk
    const { task, claim } = first
    const step = afterHandler(
      result === 'unknown' ? 'failed' : result,
      { attempt: claim.attempt, doubt: false },
      consumer,
    )
    if (step.next === 'set-aside') {
      await this.#desk.setAside(task, claim, step.as, { reason: step.reason, detail: describeError(error), error })
      return
    }
    const retryInMs = backoffMs(claim.attempt, consumer.retry, entropy.fraction())
    this.#desk.observe({ type: 'attempt-failed', key: task.key, attempt: claim.attempt, error, retryInMs })
    task.alone = true
    await this.#rollBack(items, false, retryInMs)
  }

  async #rollBack(items: readonly Granted[], refund: boolean, delayMs?: number): Promise<void> {
    const { consumer, line } = this.#desk
    const claims = items.map(({ claim }) => claim)
    await line.ask(() => consumer.store.release(claims, { refund, doubt: false }))
    this.#desk.putBack(
      items.map(({ task }) => task),
      delayMs,
    )
  }
}

/** Watches the time of the handlers of one transaction, one after the other, with one timer. */
class TimeLimit {
  readonly #desk: Desk
  #run: HandlerRun | undefined
  #cancel: (() => void) | undefined
  #onStuck: (value: undefined) => void = () => {}
  /** Resolves when the handler under watch is past its timeout and deaf to its signal. */
  readonly stuck: Promise<undefined> = new Promise((resolve) => {
    this.#onStuck = resolve
  })

  constructor(desk: Desk) {
    this.#desk = desk
  }

  watch(run: HandlerRun): void {
    this.#run = run
    this.#cancel ??= this.#desk.clock.after(this.#desk.consumer.handlerTimeoutMs, () => this.#look())
  }

  end(): void {
    this.#run = undefined
    this.#cancel?.()
  }

  #look(): void {
    const run = this.#run
    if (run === undefined) return
    const { clock, consumer } = this.#desk
    const ranMs = clock.monotonic() - (run.startedAt ?? clock.monotonic())
    if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) return this.#onStuck(undefined)
    if (ranMs >= consumer.handlerTimeoutMs) {
      run.abort(new LeaseLostError('HANDLER_TIMEOUT', `the handler ran longer than ${consumer.handlerTimeoutMs} ms`))
    }
    const limitMs =
      ranMs < consumer.handlerTimeoutMs ? consumer.handlerTimeoutMs : consumer.handlerTimeoutMs + consumer.graceMs
    this.#cancel = clock.after(Math.max(1, Math.ceil(limitMs - ranMs)), () => this.#look())
  }
}
