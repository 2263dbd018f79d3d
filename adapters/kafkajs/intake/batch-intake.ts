import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Intake, Load } from '../../../src/index.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { BatchGate } from '../offsets/batch-gate.ts'
import type { Committer } from '../offsets/committer.ts'
import { KafkaDelivery, type Order } from './delivery.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { PartitionHolds } from './partition-holds.ts'
import type { RetryDelays } from './retry-delays.ts'
import type { EachBatchPayloadLike, EndBatchProcess } from '../slice.ts'
import { whileBeating } from './while-beating.ts'

interface BatchIntakeParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly gate: BatchGate
  readonly holds: PartitionHolds
  readonly delays: RetryDelays
  readonly limits: Omit<Load, 'inFlight'>
  /** @defaultValue `partition` where positions are stored, else `key` */
  readonly order: Order | undefined
  readonly heartbeatEveryMs: number
}

/** How long `eachBatch` may hold its fetch loop while the broker is asked about offsets. */
const DECIDE_WITHIN_MS = 5_000
/**
 * How long it may hold it for a partition that is full, before that partition is paused. A pause is not free: a loop whose
 * partitions are all paused sleeps for `maxWaitTimeInMs`, so for a moment it is better to wait, though others wait too.
 */
const ROOM_WITHIN_MS = 200

/** What `eachBatch` does: registers the offsets of a batch, hands its deliveries over, and returns. */
export class BatchIntake {
  readonly #parts: BatchIntakeParts
  #intake: Intake | undefined
  #limits: Load
  #order: Order = 'key'
  #turn: Promise<void> | undefined

  constructor(parts: BatchIntakeParts) {
    this.#parts = parts
    this.#limits = { ...parts.limits, inFlight: 0 }
  }

  begin(intake: Intake): void {
    this.#intake = intake
    this.#order = this.#parts.order ?? (intake.storedPositions === undefined ? 'key' : 'partition')
    this.#limits = { ...this.#parts.limits, inFlight: intake.capacity.maxInFlight }
  }

  /** What comes after this is dropped unresolved: it is delivered again, to somebody. */
  end(): void {
    this.#intake = undefined
  }

  async take(payload: EachBatchPayloadLike): Promise<void> {
    const { assignment, committer, gate, delays } = this.#parts
    const { batch } = payload
    const epoch = assignment.live(batch.topic, batch.partition)
    if (epoch === undefined || this.#intake === undefined) return
    committer.use(payload)

    const answer = gate.admit(epoch, batch)
    const admitted = answer instanceof Promise ? await this.#waitFor(answer, payload, DECIDE_WITHIN_MS) : answer
    if (admitted === undefined || !assignment.isLive(admitted) || this.#intake === undefined) {
      return this.#rest(epoch, payload)
    }
    admitted.high = BigInt(batch.highWatermark)
    const messages = delays.takeDue(admitted, batch)
    // kafkajs counts what follows the last message, markers and aborted records, to the batch; so does a whole one here.
    const last = messages.length === batch.messages.length ? batch.lastOffset() : messages.at(-1)?.offset
    if (last === undefined) return
    const deliveries = messages.map((raw) => new KafkaDelivery(assignment, admitted, raw, this.#order))
    admitted.advanceTo(BigInt(last) + 1n)
    this.#intake.deliver(deliveries)
    try {
      payload.resolveOffset(last)
    } catch {
      // The partition has been lost this moment; the join that says so comes next.
    }
    if (admitted.isFullBy(this.#limits)) await this.#untilRoom(admitted, payload)
    else await this.#claimsSent()
  }

  stepOver(batch: EndBatchProcess): void {
    const { assignment, gate } = this.#parts
    const epoch = assignment.live(batch.topic, batch.partition)
    if (epoch !== undefined && this.#intake !== undefined) void gate.stepOver(epoch, batch)
  }

  /**
   * The claims of what is delivered leave in the next turn of the event loop. kafkajs sends its next fetch in this one, when the
   * last batch has returned, and that is work for it and for the broker which those claims would wait for. One turn for all batches.
   */
  #claimsSent(): Promise<void> {
    this.#turn ??= this.#endOfTurn()
    return this.#turn
  }

  async #endOfTurn(): Promise<void> {
    await nextTurn()
    this.#turn = undefined
  }

  /** Only this partition is paused where it stays full: the others go on. */
  async #untilRoom(epoch: PartitionEpoch, payload: EachBatchPayloadLike): Promise<void> {
    const { holds } = this.#parts
    const room = new Promise<true>((resolve) => {
      epoch.onRoom = () => {
        holds.release(epoch, 'full')
        resolve(true)
      }
    })
    const hasRoom = await this.#waitFor(room, payload, ROOM_WITHIN_MS)
    if (hasRoom === undefined && epoch.isFullBy(this.#limits)) holds.hold(epoch, 'full')
  }

  /** A batch that does not fit is fetched again at once: not for ever at full speed. */
  async #rest({ misfits }: PartitionEpoch, payload: EachBatchPayloadLike): Promise<void> {
    if (misfits > 2) await this.#waitFor(sleep(Math.min(1_000, 20 * 2 ** Math.min(misfits, 6))), payload, 1_000)
  }

  #waitFor<T>(work: Promise<T>, payload: EachBatchPayloadLike, limitMs: number): Promise<T | undefined> {
    return whileBeating(work, {
      heartbeat: () => payload.heartbeat(),
      everyMs: Math.min(this.#parts.heartbeatEveryMs, limitMs),
      limitMs,
    })
  }
}
