import { backoffMs } from '../core/backoff.ts'
import { afterClaim, afterHandler, isMarked } from '../core/decision.ts'
import { describeError } from '../errors.ts'
import type { ReleaseOptions } from '../ports/store.ts'
import { DoubtQueue } from './doubt-queue.ts'
import { HandlerRun, type RunEnd, type RunItem } from './handler-run.ts'
import { decodePayload, type Decoded } from './identify.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { ClaimBatch, Desk, Runner } from './runner.ts'
import type { Task } from './task.ts'

/** A claim is asked for again this often while another owner is busy: it may end long before its lease. */
const BUSY_POLL_MS = 1_000

type Granted = Omit<RunItem, 'payload'> & { readonly reconcile: boolean }

/**
 * Runs tasks under leases. Each turn of the event loop makes one claim call for as many ready tasks as there are free
 * handler slots, and one mark call for all that ended in it: what is claimed when the process dies is in doubt, and effects
 * not yet marked are the duplicates of a crash, so both are bounded by the slots. A slot is free again when its mark is
 * durable.
 */
export class LeaseRunner implements Runner {
  readonly #desk: Desk
  readonly #keeper: LeaseKeeper
  readonly #doubts: DoubtQueue
  readonly #stuck = new Set<HandlerRun>()
  /** Tasks that are claimed, or being claimed, and not yet marked or given back. */
  readonly #slots = new Set<Task>()
  #toMark: HandlerRun[] = []
  #isWoken = false

  constructor(desk: Desk) {
    this.#desk = desk
    this.#keeper = new LeaseKeeper(desk, (run) => this.#detach(run))
    this.#doubts = new DoubtQueue(desk, {
      slots: this.#slots,
      claim: (tasks) => this.#claim(tasks, true),
      onOpen: () => this.wake(),
    })
  }

  get stuck(): number {
    return this.#stuck.size
  }

  wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    this.#desk.clock.nextTurn(() => {
      this.#isWoken = false
      this.#markEnded()
      this.#claimReady()
    })
  }

  abort(which: (task: Task) => boolean, reason: Error): void {
    for (const run of this.#keeper.runs) {
      if (run.items.every(({ task }) => which(task))) run.abort(reason)
    }
  }

  drain(): void {
    this.#doubts.drain()
  }

  #claimReady(): void {
    const { consumer, lanes, line, isDraining } = this.#desk
    const free = consumer.concurrency - this.#slots.size
    if (free <= 0 || isDraining || line.isDown || !this.#doubts.isGateOpen || !lanes.hasReady) return
    const tasks = this.#stillOurs(lanes.take(Math.min(free, consumer.handleBatch ? consumer.batchSize : free)))
    if (tasks.length > 0) void this.#claim(tasks, false)
    if (lanes.hasReady) this.wake()
  }

  #stillOurs(tasks: readonly Task[]): Task[] {
    const ours: Task[] = []
    for (const task of tasks) {
      if (task.isCurrent) ours.push(task)
      else this.#desk.drop(task)
    }
    return ours
  }

  /** Resolves when each task has left its slot or is being handled. */
  async #claim(tasks: readonly Task[], alone: boolean): Promise<void> {
    for (const task of tasks) this.#slots.add(task)
    const batch = await this.#desk.claim(tasks, alone)
    if (batch === undefined) {
      this.#freeSlots(tasks)
      for (const task of tasks) this.#desk.drop(task)
      return
    }
    const granted = tasks.flatMap((task, index) => this.#follow(task, batch, index))
    this.#start(granted, batch.sentAt)
  }

  /** What a verdict that grants nothing asks for is done here; a grant is returned. */
  #follow(task: Task, { answers }: ClaimBatch, index: number): readonly Granted[] {
    const { consumer, entropy } = this.#desk
    const answer = answers[index]
    if (answer === undefined) throw new TypeError('a store must answer each item of a claim (lease-runner.follow)')
    const step = afterClaim(answer, consumer)
    const doubt = answer.verdict === 'taken-over'
    switch (step.next) {
      case 'handle':
      case 'reconcile':
        return 'claim' in answer ? [{ task, claim: answer.claim, doubt, reconcile: step.next === 'reconcile' }] : []
      case 'set-aside':
        if ('claim' in answer) {
          const { claim } = answer
          if (doubt) this.#desk.observe({ type: 'in-doubt', key: task.key, message: task.message })
          const detail = doubt
            ? 'an earlier attempt ended without mark or release'
            : `${claim.attempt - 1} attempts were started`
          void this.#desk.setAside(task, claim, step.as, { reason: step.reason, detail })
        }
        break
      case 'settle-duplicate':
        this.#desk.conclude(task, 'duplicate')
        break
      case 'wait':
        this.#desk.putBack([task], Math.min(step.waitMs, BUSY_POLL_MS) + Math.ceil(entropy.fraction() * 100))
        break
      case 'claim-alone':
        this.#doubts.add(task)
        break
      case 'dead-letter':
        void this.#desk.deadLetter(task, step)
        break
    }
    this.#freeSlots([task])
    return []
  }

  #start(granted: readonly Granted[], sentAt: number): void {
    const { consumer } = this.#desk
    const together: RunItem[] = []
    for (const item of granted) {
      if (item.doubt) this.#desk.observe({ type: 'in-doubt', key: item.task.key, message: item.task.message })
      if (item.reconcile) {
        void this.#reconcile(item, sentAt)
        continue
      }
      const decoded = decodePayload(item.task.message, consumer)
      if (decoded instanceof Promise) void decoded.then((late) => this.#begin(item, late, sentAt))
      else if (consumer.handleBatch !== undefined && decoded.ok && !item.task.alone) {
        together.push({ ...item, payload: decoded.payload })
      } else this.#begin(item, decoded, sentAt)
    }
    if (together.length > 0) void this.#run(together, sentAt)
  }

  #begin(item: Granted, decoded: Decoded, sentAt: number): void {
    if (decoded.ok) {
      void this.#run([{ ...item, payload: decoded.payload }], sentAt)
      return
    }
    this.#freeSlots([item.task])
    void this.#desk.setAside(item.task, item.claim, 'given-up', decoded)
  }

  async #run(items: readonly RunItem[], sentAt: number): Promise<void> {
    const { consumer, clock, isDraining } = this.#desk
    const run = new HandlerRun(items, sentAt + consumer.leaseMs)
    // The last look before effects begin: the answer may have been long under way, or a stop have come meanwhile.
    if (isDraining || clock.monotonic() >= run.leaseUntil) {
      await this.#release(run, { refund: true, doubt: false })
      this.#leave(run)
      this.#desk.putBack(items.map(({ task }) => task))
      return
    }
    this.#keeper.keep(run, sentAt)
    const end = await run.run(consumer, undefined, clock.monotonic())
    if (run.isDetached) await this.#endedTooLate(run, end)
    else await this.#ended(run, end)
  }

  async #ended(run: HandlerRun, { result, error }: RunEnd): Promise<void> {
    const [first, ...others] = run.items
    if (first === undefined) return
    const { consumer, entropy } = this.#desk
    if (others.length > 0 && (result === 'failed' || result === 'fatal')) return this.#splitBatch(run)
    const { task, claim, doubt } = first
    const step = afterHandler(result, { attempt: claim.attempt, doubt }, consumer)
    switch (step.next) {
      case 'mark':
        this.#toMark.push(run)
        this.wake()
        return
      case 'retry': {
        const retryInMs = backoffMs(claim.attempt, consumer.retry, entropy.fraction())
        this.#desk.observe({ type: 'attempt-failed', key: task.key, attempt: claim.attempt, error, retryInMs })
        await this.#release(run, { refund: false, doubt: false })
        this.#leave(run)
        this.#desk.putBack([task], retryInMs)
        return
      }
      case 'rerun-in-doubt':
        for (const item of run.items)
          this.#desk.observe({ type: 'in-doubt', key: item.task.key, message: item.task.message })
        await this.#release(run, { refund: false, doubt: true })
        this.#leave(run)
        for (const item of run.items) this.#doubts.add(item.task)
        return
      case 'set-aside': {
        const { as, reason } = step
        if (reason === 'in-doubt') {
          for (const item of run.items)
            this.#desk.observe({ type: 'in-doubt', key: item.task.key, message: item.task.message })
        }
        const why = { reason, detail: describeError(error), error }
        await Promise.all(run.items.map((item) => this.#desk.setAside(item.task, item.claim, as, why)))
        this.#leave(run)
      }
    }
  }

  /** A batch that failed says nothing about each of its messages: every one runs again alone, in the same attempt. */
  async #splitBatch(run: HandlerRun): Promise<void> {
    await this.#release(run, { refund: true, doubt: false })
    this.#leave(run)
    for (const { task } of run.items) task.alone = true
    this.#desk.putBack(run.items.map(({ task }) => task))
  }

  #markEnded(): void {
    if (this.#toMark.length === 0) return
    const runs = this.#toMark
    this.#toMark = []
    void this.#mark(runs)
  }

  async #mark(runs: readonly HandlerRun[]): Promise<void> {
    const { consumer, line } = this.#desk
    const items = runs.flatMap((run) => run.items)
    const claims = items.map(({ claim }) => claim)
    const verdicts = await line.ask(() => consumer.store.mark(claims))
    for (const run of runs) this.#leave(run)
    if (verdicts === undefined) {
      // Unknown at the stop deadline: an effect that happened is never released, the record stays in doubt.
      for (const { task } of items) this.#desk.drop(task)
      return
    }
    let late = 0
    for (const [index, { task, claim }] of items.entries()) {
      const verdict = verdicts[index]
      if (verdict !== undefined && isMarked(verdict)) {
        if (verdict === 'marked-late') late++
        this.#desk.conclude(task, 'handled', claim)
      } else this.#leaseLost(task)
    }
    this.#desk.observe({ type: 'marks', count: items.length, late })
  }

  /** The store says who has the message now: claim it again and follow that verdict, if the delivery is still ours. */
  #leaseLost(task: Task): void {
    this.#desk.observe({ type: 'lease-lost', key: task.key })
    if (task.isLost) this.#desk.drop(task, 'lease-lost')
    else this.#desk.putBack([task])
  }

  async #reconcile(item: Granted, sentAt: number): Promise<void> {
    const { consumer } = this.#desk
    const { task, claim } = item
    const run = new HandlerRun([{ ...item, payload: undefined }], sentAt + consumer.leaseMs)
    this.#keeper.keep(run, sentAt)
    try {
      const answer = await consumer.reconcile?.(task.message, task.idempotencyKey)
      if (answer === 'happened') {
        run.hasEnded = true
        return await this.#mark([run])
      }
      if (answer === 'did-not-happen') {
        this.#keeper.release(run)
        return this.#begin(
          item,
          await decodePayload(task.message, consumer),
          Math.max(sentAt, run.leaseUntil - consumer.leaseMs),
        )
      }
      await this.#desk.setAside(task, claim, 'parked', { reason: 'in-doubt', detail: 'reconcile could not tell' })
    } catch (error) {
      await this.#desk.setAside(task, claim, 'parked', { reason: 'in-doubt', detail: 'reconcile threw', error })
    }
    this.#leave(run)
  }

  /** Nobody waits for this handler any more. Its task goes on without it; health says that a restart would help. */
  #detach(run: HandlerRun): void {
    run.isDetached = true
    this.#stuck.add(run)
    this.#leave(run)
    for (const { task, claim } of run.items) {
      this.#desk.observe({ type: 'stuck', key: task.key })
      const { onInDoubt, leaseMs, handlerTimeoutMs } = this.#desk.consumer
      if (onInDoubt === 'park') {
        const detail = `the handler ran longer than ${handlerTimeoutMs} ms and did not end when aborted`
        this.#desk.observe({ type: 'in-doubt', key: task.key, message: task.message })
        void this.#desk.setAside(task, claim, 'parked', { reason: 'in-doubt', detail })
      } else this.#desk.putBack([task], leaseMs)
    }
  }

  /** Its effect may have happened after all: the owner token decides whether its mark still counts. */
  async #endedTooLate(run: HandlerRun, { result }: RunEnd): Promise<void> {
    this.#stuck.delete(run)
    if (result === 'handled') await this.#desk.line.ask(() => this.#desk.consumer.store.mark(run.claims))
  }

  async #release(run: HandlerRun, how: ReleaseOptions): Promise<void> {
    await this.#desk.line.ask(() => this.#desk.consumer.store.release(run.claims, how))
  }

  #leave(run: HandlerRun): void {
    this.#keeper.release(run)
    this.#freeSlots(run.items.map(({ task }) => task))
  }

  #freeSlots(tasks: readonly Task[]): void {
    for (const task of tasks) this.#slots.delete(task)
    this.#doubts.slotsFreed()
    this.wake()
  }
}
