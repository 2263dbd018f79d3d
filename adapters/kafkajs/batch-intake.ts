import { setTimeout as sleep } from 'node:timers/promises'
import type { Intake } from '../../src/index.ts'
import type { Assignment } from './assignment.ts'
import type { BatchGate } from './batch-gate.ts'
import type { Committer } from './committer.ts'
import { KafkaDelivery, type Order } from './delivery.ts'
import type { PartitionEpoch } from './partition-epoch.ts'
import type { EachBatchPayloadLike, EndBatchProcess } from './slice.ts'
import { whileBeating } from './while-beating.ts'

interface BatchIntakeParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly gate: BatchGate
  readonly order: Order
  readonly heartbeatEveryMs: number
}

/** How long `eachBatch` may hold its fetch loop while the broker is asked about offsets. */
const DECIDE_WITHIN_MS = 5_000

/** What `eachBatch` does: registers the offsets of a batch, hands its deliveries over, and returns. */
export class BatchIntake {
  readonly #parts: BatchIntakeParts
  #intake: Intake | undefined

  constructor(parts: BatchIntakeParts) {
    this.#parts = parts
  }

  begin(intake: Intake): void {
    this.#intake = intake
  }

  /** What comes after this is dropped unresolved: it is delivered again, to somebody. */
  end(): void {
    this.#intake = undefined
  }

  async take(payload: EachBatchPayloadLike): Promise<void> {
    const { assignment, committer, gate, order } = this.#parts
    const { batch } = payload
    const epoch = assignment.live(batch.topic, batch.partition)
    if (epoch === undefined || this.#intake === undefined) return
    committer.use(payload)

    const answer = gate.admit(epoch, batch)
    const admitted = answer instanceof Promise ? await this.#waitFor(answer, payload) : answer
    if (admitted === undefined || !assignment.isLive(admitted) || this.#intake === undefined) {
      return this.#rest(epoch, payload)
    }
    const deliveries = batch.messages.map((raw) => new KafkaDelivery(assignment, admitted, raw, order))
    const last = batch.lastOffset()
    admitted.advanceTo(BigInt(last) + 1n)
    this.#intake.deliver(deliveries)
    try {
      payload.resolveOffset(last)
    } catch {
      // The partition has been lost this moment; the join that says so comes next.
    }
  }

  stepOver(batch: EndBatchProcess): void {
    const { assignment, gate } = this.#parts
    const epoch = assignment.live(batch.topic, batch.partition)
    if (epoch !== undefined && this.#intake !== undefined) void gate.stepOver(epoch, batch)
  }

  /** A batch that does not fit is fetched again at once: not for ever at full speed. */
  async #rest({ misfits }: PartitionEpoch, payload: EachBatchPayloadLike): Promise<void> {
    if (misfits > 2) await this.#waitFor(sleep(Math.min(1_000, 20 * 2 ** Math.min(misfits, 6))), payload)
  }

  #waitFor<T>(work: Promise<T>, payload: EachBatchPayloadLike): Promise<T | undefined> {
    return whileBeating(work, {
      heartbeat: () => payload.heartbeat(),
      everyMs: this.#parts.heartbeatEveryMs,
      limitMs: DECIDE_WITHIN_MS,
    })
  }
}
