import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describeError, type Intake, type Load } from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { BatchGate } from '../starts/batch-gate.ts'
import type { ForeignCopies } from '../copies/foreign-copies.ts'
import type { Committer } from '../commits/committer.ts'
import { KafkaDelivery, type OriginOf } from './delivery.ts'
import type { Order } from '../options/options.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { PartitionHolds } from '../membership/partition-holds.ts'
import type { Report } from '../report.ts'
import type { RetryDelays } from './retry-delays.ts'
import type { BatchPayload, EndBatchProcess } from '../client.ts'
import { whileBeating } from './while-beating.ts'

interface BatchIntakeParts {
  readonly assignment: Assignment
  readonly committer: Committer
  readonly gate: BatchGate
  readonly holds: PartitionHolds
  readonly delays: RetryDelays
  readonly foreign: ForeignCopies
  readonly limits: Omit<Load, 'inFlight'>
  /** @defaultValue `partition` with stored positions, else `key` */
  readonly order: Order | undefined
  readonly originOf: OriginOf
  readonly heartbeatEveryMs: number
  readonly report: Report
  /** Reads a partition again from the lowest offset that is not known to be over. */
  readonly readAgain: (epoch: PartitionEpoch) => void
}

/** How long `eachBatch` may block its fetch loop while the broker is asked about offsets. */
const DECIDE_WITHIN_MS = 5_000
/**
 * How long it may block the loop for a full partition before that partition is paused. A pause has a cost: a loop whose
 * partitions are all paused sleeps for `maxWaitTimeInMs`. So a short wait is better, although other partitions wait
 * too.
 */
const ROOM_WITHIN_MS = 200

/**
 * The work of a client for its next fetch takes as long as a few messages take in all. So few messages end before that,
 * if they end soon.
 */
const FEW = 8
const SOON_MS = 1

/** To be awaited: the promises of other partitions go on, in the same turn of the event loop. */
const othersTakeSome = Promise.resolve()

/** Pause before a batch that could not be handed over, because of a bug, is read again. */
const READ_AGAIN_AFTER_MS = 1_000

/** Messages of one partition that are handed over before the others have their turn. */
const TOGETHER = 64
/**
 * Messages of all partitions that are handed over in one turn of the event loop. The pipeline says before that when the
 * time of a turn is over; this bounds what it only puts into a queue, as while a decoder answers later.
 */
const MOST_IN_A_TURN = 2_000

/**
 * The work of `eachBatch`: registers the offsets of a batch, hands its deliveries over while there is room, and
 * returns.
 */
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

  /** Later batches are dropped unresolved: the broker delivers them again. */
  end(): void {
    this.#intake = undefined
  }

  async take(payload: BatchPayload): Promise<void> {
    const { assignment, committer, gate, delays, foreign } = this.#parts
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
    // For kafkajs, markers and aborted records after the last message belong to the batch. If all messages are taken,
    // they count as taken too.
    const last = messages.length === batch.messages.length ? batch.lastOffset() : messages.at(-1)?.offset
    if (last === undefined) return
    const own = foreign.leaveOut(batch.topic, admitted.withoutKnown(messages))
    const next = admitted.behind(last)
    admitted.fetched(own, next)
    try {
      // Before the first await: resolved after a join, it would move the position of the next epoch.
      payload.resolveOffset((next - 1n).toString())
    } catch {
      // The partition was just lost; the next join will say so.
    }
    await this.#takeAll(admitted, payload)
  }

  stepOver(batch: EndBatchProcess): void {
    const { assignment, gate } = this.#parts
    const epoch = assignment.live(batch.topic, batch.partition)
    if (epoch !== undefined && this.#intake !== undefined) void gate.stepOver(epoch, batch)
  }

  /**
   * Blocks the fetch loop for a moment, with heartbeats. Messages without room after that wait here, and only their
   * partition is paused.
   */
  async #takeAll(epoch: PartitionEpoch, payload: BatchPayload): Promise<void> {
    const { holds } = this.#parts
    const taking = this.#takeAsThereIsRoom(epoch)
    const isTaken = await this.#waitFor(taking, payload, ROOM_WITHIN_MS)
    if (isTaken !== undefined || !epoch.isLive || this.#intake === undefined) return
    holds.hold(epoch, 'full')
    void taking.then(() => holds.release(epoch, 'full'))
  }

  /**
   * Hands over the fetched messages of a partition, in one turn of the event loop what the pipeline has time for: what
   * is handed over in one turn is claimed together. Messages beyond the limits stay raw bytes. Resolves with `true` when
   * all are handed over and there is room for the next batch. If the epoch ends first, it resolves with `false` or
   * never. Never rejects.
   */
  async #takeAsThereIsRoom(epoch: PartitionEpoch): Promise<boolean> {
    try {
      const areFew = epoch.waiting <= FEW
      await this.#takeWhatWaits(epoch)
      if (areFew) await idleSoon(epoch)
      return epoch.isLive
    } catch (error) {
      // The message is registered but was not handed over: this epoch can finish nothing more.
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
        while (this.#takeSome(epoch)) await othersTakeSome
        await this.#claimsSent()
      }
    }
  }

  /** `false`: nothing, because none is left or has room, or because this turn bears no more. */
  #takeSome(epoch: PartitionEpoch): boolean {
    const intake = this.#intake
    if (intake === undefined || intake.isTurnOver === true || this.#takenInTurn >= MOST_IN_A_TURN) return false
    const reading = { order: this.#order, originOf: this.#parts.originOf }
    const deliveries: KafkaDelivery[] = []
    while (deliveries.length < TOGETHER && !epoch.isFullBy(this.#limits)) {
      const raw = epoch.takeWaiting()
      if (raw === undefined) break
      deliveries.push(new KafkaDelivery(this.#parts.assignment, epoch, raw, reading))
    }
    if (deliveries.length === 0) return false
    this.#takenInTurn += deliveries.length
    intake.deliver(deliveries)
    return true
  }

  /**
   * The claims for these deliveries are sent in the next turn of the event loop. kafkajs sends its next fetch in this
   * turn, once the last batch has returned, and client and broker would process that fetch before the claims. One turn
   * is enough for all batches.
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

  /** kafkajs fetches a batch that does not fit again at once. Slow that down. */
  async #rest({ misfits }: PartitionEpoch, payload: BatchPayload): Promise<void> {
    if (misfits > 2) await this.#waitFor(sleep(Math.min(1_000, 20 * 2 ** Math.min(misfits, 6))), payload, 1_000)
  }

  /**
   * Its partition is paused, or will be soon, so at most one batch of each is in memory. This batch is not resolved and
   * comes again.
   */
  async #dropBehindWaiting(payload: BatchPayload): Promise<void> {
    await this.#waitFor(sleep(ROOM_WITHIN_MS), payload, ROOM_WITHIN_MS)
  }

  #waitFor<T>(work: Promise<T>, payload: BatchPayload, limitMs: number): Promise<T | undefined> {
    return whileBeating(work, {
      heartbeat: () => payload.heartbeat(),
      everyMs: Math.min(this.#parts.heartbeatEveryMs, limitMs),
      limitMs,
    })
  }
}

/** Resolves when none of its messages is in flight, or after a moment. */
function idleSoon(epoch: PartitionEpoch): Promise<void> {
  if (epoch.inFlight === 0) return Promise.resolve()
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      epoch.onIdle = undefined
      resolve()
    }
    const timer = setTimeout(over, SOON_MS)
    epoch.onIdle = over
  })
}
