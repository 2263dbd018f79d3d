import type { HandlerResult } from '../../core/after-run.ts'
import type { Reason, Result } from '../../core/record.ts'
import { payloadHashOf } from '../../identity/digest.ts'
import type { Delivery } from '../../ports/source.ts'
import { DROPPED } from '../ending.ts'
import type { Unreadable } from '../handling/decode-payloads.ts'
import type { RunItem } from '../handling/handler-run.ts'
import { WithoutClaim } from '../runs/without-claim.ts'
import type { Unidentified } from '../intake/identify.ts'
import type { Services } from '../services.ts'
import { LateMarks } from '../store/late-marks.ts'
import { Task } from '../task.ts'
import { Observation } from './observation.ts'
import type { Batching, Choice } from './batching.ts'

/**
 * Mode `observe`: every message runs at once, and its delivery is settled when its handler has ended well. After that its
 * record is claimed and marked beside the handlers, in batches, and the verdict of that claim is told. Nothing is
 * dropped, parked or dead-lettered, and nothing waits for the store.
 */
export class ObserveBatching implements Choice {
  readonly #services: Services
  readonly #batching: Batching
  readonly #runs: WithoutClaim
  readonly #marks: LateMarks
  readonly #observation: Observation
  /** Messages without a usable ID: they have no record. */
  readonly #unusable = new WeakSet<Task>()
  /** Messages whose dead letter was told. If they are handled after all, their mark tells nothing. */
  readonly #told = new WeakSet<Task>()
  #hasTold = false

  constructor(services: Services, scope: string, batching: Batching) {
    this.#services = services
    this.#batching = batching
    this.#observation = new Observation(services, scope)
    this.#marks = new LateMarks(services, {
      onAnswer: (mark, answer) => this.#observation.answered(mark, answer),
      onBatch: () => this.#observation.flush(),
      onLost: (count) => this.#observation.lost(count),
    })
    this.#runs = new WithoutClaim(services, batching.executor, {
      onHandled: (item, kept) => this.#handled(item, kept),
      onFailed: ({ task, claim }, { result }, undecoded) => this.#failed(task, claim.attempt, result, undecoded),
    })
  }

  /** A message without a usable ID runs too. */
  identified(delivery: Delivery, identified: Task | Unidentified): Task | Unidentified {
    if (identified instanceof Task) return identified
    // Random: it has no record, and no other message has this key.
    const task = new Task(delivery, payloadHashOf(Buffer.from(this.#services.entropy.ownerToken())), '')
    this.#unusable.add(task)
    this.#tellDeadLetter(task, identified.reason)
    return task
  }

  async written(): Promise<void> {
    await this.#marks.written()
    await this.#observation.save()
  }

  abandon(): void {
    this.#marks.close()
    this.#observation.close()
  }

  get hasWork(): boolean {
    return this.#services.lanes.hasReady
  }

  goOn(): void {
    const { consumer, lanes, isDraining } = this.#services
    const { executor } = this.#batching
    const free = consumer.concurrency - executor.claimed
    if (free <= 0 || isDraining || !lanes.hasReady) return
    const tasks = executor.stillOurs(lanes.take(Math.min(free, consumer.handleBatch ? consumer.batchSize : free)))
    executor.acquire(tasks)
    if (tasks.length > 0) this.#runs.start(tasks)
    if (lanes.hasReady) this.#batching.wake()
  }

  /** No task is in doubt. */
  companyApart(): number {
    return 1
  }

  isLastAttempt(): boolean {
    return false
  }

  async runApart(tasks: readonly Task[]): Promise<void> {
    this.#batching.executor.endAll(tasks, DROPPED)
  }

  #handled({ task, claim: { key, digest } }: RunItem, kept: Result | undefined): void {
    if (this.#hasTold && this.#unusable.has(task)) return
    const { message } = task
    const { system, destination, position } = message
    const place = { system, destination, position }
    this.#marks.add({
      key,
      digest,
      kept,
      at: this.#services.clock.now(),
      place,
      isTold: this.#hasTold && this.#told.has(task),
    })
  }

  #failed(task: Task, attempt: number, result: HandlerResult, undecoded: Unreadable | undefined): void {
    if (result === 'later') return
    if (undecoded !== undefined) this.#tellDeadLetter(task, undecoded.reason)
    else if (result === 'fatal') this.#tellDeadLetter(task, 'handler-failed')
    else if (attempt >= this.#services.consumer.maxAttempts) this.#tellDeadLetter(task, 'attempts-spent')
  }

  /** Once for each message. */
  #tellDeadLetter(task: Task, reason: Reason): void {
    if (this.#told.has(task)) return
    this.#told.add(task)
    this.#hasTold = true
    const { key, message } = task
    const { system, destination, position } = message
    const known = this.#unusable.has(task) ? undefined : key
    const at = this.#services.clock.now()
    this.#observation.found({ verdict: 'dead-letter', key: known, system, destination, position, at, reason })
  }
}
