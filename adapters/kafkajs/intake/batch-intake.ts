import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describeError, type Intake, type Load } from '../../../src/index.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { BatchGate } from '../offsets/batch-gate.ts'
import type { Committer } from '../offsets/committer.ts'
import { KafkaDelivery, type Order } from './delivery.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { PartitionHolds } from './partition-holds.ts'
import type { Report } from '../report.ts'
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
  readonly report: Report
  /** Reads a partition again from what is known to be over. */
  readonly readAgain: (epoch: PartitionEpoch) => void
}

/** How long `eachBatch` may hold its fetch loop while the broker is asked about offsets. */
const DECIDE_WITHIN_MS = 5_000
/**
 * How long it may hold it for a partition that is full, before that partition is paused. A pause is not free: a loop whose
 * partitions are all paused sleeps for `maxWaitTimeInMs`, so for a moment it is better to wait, though others wait too.
 */
const ROOM_WITHIN_MS = 200

/** What cannot be handed over, by a mistake somewhere, is read again: not at full speed. */
const READ_AGAIN_AFTER_MS = 1_000

/** Messages of one partition that are handed over together, and of all partitions in one turn of the event loop. */
const SLICE = 50
const MOST_IN_A_TURN = 250

/** What `eachBatch` does: registers the offsets of a batch, hands its deliveries over as there is room, and returns. */
export class BatchIntake {
  readonly #parts: BatchIntakeParts
  #intake: Intake | undefined
  #limits: Load
  #order: Order = 'key'
  #turn: Promise<void> | undefined
  #takenInTurn = 0

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
    if (admitted.waiting > 0) return this.#dropBehindWaiting(payload)
    const messages = delays.takeDue(admitted, batch)
    // kafkajs counts what follows the last message, markers and aborted records, to the batch; so does a whole one here.
    const last = messages.length === batch.messages.length ? batch.lastOffset() : messages.at(-1)?.offset
    if (last === undefined) return
    admitted.fetched(admitted.withoutKnown(messages), BigInt(last) + 1n)
    try {
      // Before the first await: resolved after a join, it would move the position of the next epoch.
      payload.resolveOffset(last)
    } catch {
      // The partition has been lost this moment; the join that says so comes next.
    }
    await this.#takeAll(admitted, payload)
  }

  stepOver(batch: EndBatchProcess): void {
    const { assignment, gate } = this.#parts
    const epoch = assignment.live(batch.topic, batch.partition)
    if (epoch !== undefined && this.#intake !== undefined) void gate.stepOver(epoch, batch)
  }

  /**
   * Holds the fetch loop for a moment, and kafkajs's heartbeats go on. What has no room by then waits here, and its partition is
   * paused alone: the others go on.
   */
  async #takeAll(epoch: PartitionEpoch, payload: EachBatchPayloadLike): Promise<void> {
    const { holds } = this.#parts
    const taking = this.#takeAsThereIsRoom(epoch)
    const isTaken = await this.#waitFor(taking, payload, ROOM_WITHIN_MS)
    if (isTaken !== undefined || !epoch.isLive || this.#intake === undefined) return
    holds.hold(epoch, 'full')
    void taking.then(() => holds.release(epoch, 'full'))
  }

  /**
   * Hands over what was fetched of a partition, in slices, so that nothing beyond the limits is more than raw bytes and no slice keeps
   * the event loop from anything else. Resolves when none of it waits any more and there is room for the next batch; with `false`, or
   * never, when the epoch ends before. Never rejects.
   */
  async #takeAsThereIsRoom(epoch: PartitionEpoch): Promise<boolean> {
    try {
      await this.#takeWhatWaits(epoch)
      return epoch.isLive
    } catch (error) {
      // Registered, and handed to nobody: nothing of this epoch can be finished any more.
      this.#parts.report('adapter-error', `${epoch.name}: ${describeError(error)}`)
      await sleep(READ_AGAIN_AFTER_MS)
      if (epoch.isLive) this.#parts.readAgain(epoch)
      return false
    }
  }

  async #takeWhatWaits(epoch: PartitionEpoch): Promise<void> {
    for (;;) {
      if (epoch.isFullBy(this.#limits)) {
        await new Promise<void>((resolve) => {
          epoch.onRoom = resolve
        })
      } else if (epoch.waiting === 0 || this.#intake === undefined) {
        return
      } else {
        this.#takeSlice(epoch)
        await this.#claimsSent()
      }
    }
  }

  #takeSlice(epoch: PartitionEpoch): void {
    const most = Math.min(SLICE, MOST_IN_A_TURN - this.#takenInTurn)
    const deliveries: KafkaDelivery[] = []
    while (deliveries.length < most && !epoch.isFullBy(this.#limits)) {
      const raw = epoch.takeWaiting()
      if (raw === undefined) break
      deliveries.push(new KafkaDelivery(this.#parts.assignment, epoch, raw, this.#order))
    }
    if (deliveries.length === 0) return
    this.#takenInTurn += deliveries.length
    this.#intake?.deliver(deliveries)
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
    this.#takenInTurn = 0
  }

  /** A batch that does not fit is fetched again at once: not for ever at full speed. */
  async #rest({ misfits }: PartitionEpoch, payload: EachBatchPayloadLike): Promise<void> {
    if (misfits > 2) await this.#waitFor(sleep(Math.min(1_000, 20 * 2 ** Math.min(misfits, 6))), payload, 1_000)
  }

  /** Its partition is paused, or about to be: one batch of each is in memory at most. Unresolved, this one comes again. */
  async #dropBehindWaiting(payload: EachBatchPayloadLike): Promise<void> {
    await this.#waitFor(sleep(ROOM_WITHIN_MS), payload, ROOM_WITHIN_MS)
  }

  #waitFor<T>(work: Promise<T>, payload: EachBatchPayloadLike, limitMs: number): Promise<T | undefined> {
    return whileBeating(work, {
      heartbeat: () => payload.heartbeat(),
      everyMs: Math.min(this.#parts.heartbeatEveryMs, limitMs),
      limitMs,
    })
  }
}
