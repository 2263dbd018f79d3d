import { setTimeout as sleep } from 'node:timers/promises'
import {
  BrokerError,
  describeError,
  isConsumeOnceError,
  StoppedError,
  type Intake,
  type Source,
  type SourceEvent,
  type SourceHealth,
} from '../../src/index.ts'
import type { AdminDesk } from './admin-desk.ts'
import { Assignment } from './assignment.ts'
import { BatchGate } from './batch-gate.ts'
import { Committer } from './committer.ts'
import { KafkaDelivery } from './delivery.ts'
import { GroupOffsets } from './group-offsets.ts'
import { Membership } from './membership.ts'
import type { ResolvedKafka } from './options.ts'
import type { PartitionEpoch } from './partition-epoch.ts'
import { isAnswer } from './protocol-error.ts'
import type { Report } from './report.ts'
import type { CommitRequest, EachBatchPayloadLike, EndBatchProcess, GroupJoin, KafkaLike } from './slice.ts'
import { prepareTopics } from './topics.ts'
import { whileBeating } from './while-beating.ts'

interface SourceParts {
  readonly kafka: KafkaLike
  readonly desk: AdminDesk
  readonly options: ResolvedKafka
  /** Closes what belongs to the source and outlives its consumer. */
  readonly afterClose: () => Promise<void>
}

/** How long `eachBatch` may hold its fetch loop while the broker is asked about offsets. */
const DECIDE_WITHIN_MS = 5_000
const FLUSH_WITHIN_MS = 3_000

/**
 * Kafka, detached: `eachBatch` registers the offsets of a batch, hands the deliveries over and returns. What they come to is
 * committed from a timer, as the watermark of each partition.
 */
export class KafkaSource implements Source {
  readonly system = 'kafka'
  readonly group: string
  readonly #parts: SourceParts
  readonly #report: Report
  readonly #assignment = new Assignment()
  readonly #committer: Committer
  readonly #offsets: GroupOffsets
  readonly #gate: BatchGate
  #intake: Intake = { deliver: () => {}, standingChanged: () => {}, report: () => {} }
  readonly #membership: Membership
  #commitTimer: NodeJS.Timeout | undefined
  #isPaused = false
  #intakeHasEnded = false
  #closed: Promise<void> | undefined
  #health: SourceHealth = { ready: false, detail: 'not started' }

  constructor(parts: SourceParts) {
    const { kafka, desk, options } = parts
    this.#parts = parts
    this.group = options.groupId
    this.#report = (event, detail) => this.#tell({ type: 'source', event, detail })
    this.#committer = new Committer(this.#assignment, this.#report, (count) => this.#tell({ type: 'settles', count }))
    this.#membership = new Membership(
      { ...options, kafka, report: this.#report },
      {
        batch: (payload) => this.#take(payload),
        controlBatch: (batch) => this.#stepOver(batch),
        joined: (join) => this.#joined(join),
        rebalancing: () => this.#rebalancing(),
        halted: () => this.#halted(),
        waiting: (detail) => this.#isNotReady(detail),
      },
    )
    this.#offsets = new GroupOffsets(desk, options.groupId, options.topics)
    this.#gate = new BatchGate({
      assignment: this.#assignment,
      committer: this.#committer,
      offsets: this.#offsets,
      report: this.#report,
      seek: (epoch, offset) => this.#seek(epoch, offset),
      standingChanged: () => this.#intake.standingChanged(),
    })
  }

  async open(intake: Intake): Promise<void> {
    const { desk, options } = this.#parts
    this.#intake = intake
    this.#isNotReady('connecting')
    try {
      await prepareTopics(desk, options, this.#report)
      this.#committer.startFrom(await this.#offsets.allCommitted().catch(() => new Map()))
      await this.#membership.start()
    } catch (error) {
      throw this.#unreachable(error)
    }
    if (this.#closed !== undefined) throw new StoppedError('closed while it opened')
    this.#commitTimer = setInterval(() => this.#tick(), options.commitEveryMs)
  }

  pause(): void {
    this.#isPaused = true
    this.#applyPause()
  }

  resume(): void {
    this.#isPaused = false
    this.#applyPause()
  }

  /** Paused partitions keep the membership alive: kafkajs's loop goes round without fetching, and sends heartbeats. */
  async stopIntake(): Promise<void> {
    this.#intakeHasEnded = true
    this.#applyPause()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  health(): SourceHealth {
    return this.#health
  }

  #joined({ memberAssignment }: GroupJoin): void {
    this.#assignment.join(memberAssignment)
    this.#committer.joined()
    this.#applyPause()
    const count = this.#assignment.epochs.length
    this.#health = { ready: true, detail: `${count} partition${count === 1 ? '' : 's'}` }
    this.#intake.standingChanged()
    this.#report('group-joined', this.#assignment.epochs.map(({ name }) => name).join(' '))
  }

  #rebalancing(): void {
    this.#committer.commitBeforeRebalance()
    this.#assignment.raise()
    this.#isNotReady('rebalancing')
    this.#intake.standingChanged()
    this.#report('rebalancing', this.group)
  }

  #halted(): void {
    this.#committer.forget()
    this.#assignment.raise()
    this.#isNotReady('reconnecting')
    this.#intake.standingChanged()
  }

  /** An observer that throws would kill kafkajs from inside its events. */
  #tell(event: SourceEvent): void {
    try {
      this.#intake.report(event)
    } catch {
      // Its own business.
    }
  }

  #isNotReady(detail: string): void {
    this.#health = { ready: false, detail }
  }

  async #take(payload: EachBatchPayloadLike): Promise<void> {
    const { batch } = payload
    const epoch = this.#assignment.live(batch.topic, batch.partition)
    if (epoch === undefined || this.#intakeHasEnded) return
    this.#committer.use(payload)

    const answer = this.#gate.admit(epoch, batch)
    const admitted = answer instanceof Promise ? await this.#waitFor(answer, payload) : answer
    if (admitted === undefined || !this.#assignment.isLive(admitted) || this.#intakeHasEnded) {
      return this.#rest(epoch, payload)
    }
    const { order } = this.#parts.options
    const deliveries = batch.messages.map((raw) => new KafkaDelivery(this.#assignment, admitted, raw, order))
    const last = batch.lastOffset()
    admitted.advanceTo(BigInt(last) + 1n)
    this.#intake.deliver(deliveries)
    try {
      payload.resolveOffset(last)
    } catch {
      // The partition has been lost this moment; the join that says so comes next.
    }
  }

  /** A batch that does not fit is fetched again at once: not for ever at full speed. */
  async #rest({ misfits }: PartitionEpoch, payload: EachBatchPayloadLike): Promise<void> {
    if (misfits > 2) await this.#waitFor(sleep(Math.min(1_000, 20 * 2 ** Math.min(misfits, 6))), payload)
  }

  #waitFor<T>(work: Promise<T>, payload: EachBatchPayloadLike): Promise<T | undefined> {
    const everyMs = this.#parts.options.consumer.heartbeatInterval ?? DECIDE_WITHIN_MS
    return whileBeating(work, { heartbeat: () => payload.heartbeat(), everyMs, limitMs: DECIDE_WITHIN_MS })
  }

  #stepOver(batch: EndBatchProcess): void {
    const epoch = this.#assignment.live(batch.topic, batch.partition)
    if (epoch !== undefined && !this.#intakeHasEnded) void this.#gate.stepOver(epoch, batch)
  }

  #seek({ topic, partition }: PartitionEpoch, offset: bigint): void {
    try {
      this.#membership.consumer?.seek({ topic, partition, offset: offset.toString() })
    } catch {
      // Between a crash and the next join there is nothing to seek in; the next join begins from the committed offset.
    }
  }

  /** By name, and for all: what was paused outlives its assignment in kafkajs, also where it is lost and comes back. */
  #applyPause(): void {
    const { consumer } = this.#membership
    const isPausing = this.#isPaused || this.#intakeHasEnded
    try {
      const partitions = (isPausing ? this.#assignment.partitions : consumer?.paused()) ?? []
      if (partitions.length === 0) return
      if (isPausing) consumer?.pause(partitions)
      else consumer?.resume(partitions)
    } catch {
      // There is no consumer between a crash and the next join, which applies it.
    }
  }

  #tick(): void {
    const { consumer } = this.#membership
    if (consumer === undefined) return
    this.#committer.tick((request) => consumer.commitOffsets(flatten(request)))
  }

  async #close(): Promise<void> {
    this.#intakeHasEnded = true
    clearInterval(this.#commitTimer)
    await this.#committer.flush(FLUSH_WITHIN_MS)
    await this.#membership.leave()
    this.#assignment.join({})
    this.#isNotReady('stopped')
    await this.#parts.afterClose()
  }

  #unreachable(error: unknown): Error {
    if (isConsumeOnceError(error)) return error
    const advice = isAnswer(error)
      ? ''
      : '. Check that the brokers given to Kafka() are up and can be reached from here, also under the address they advertise'
    const text = `group ${this.group} could not join: ${describeError(error)}${advice}`
    return new BrokerError('BROKER_UNREACHABLE', text, { cause: error })
  }
}

function flatten({ topics }: CommitRequest): { topic: string; partition: number; offset: string }[] {
  return topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, ...partition })))
}
