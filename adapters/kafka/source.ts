import {
  StoppedError,
  type Backlog,
  type DurationMs,
  type Intake,
  type RedeliveryWindow,
  type Source,
  type SourceHealth,
  type Work,
} from '../../src/internal.ts'
import type { AdminClient } from './admin-client.ts'
import { Assignment } from './membership/assignment.ts'
import { BatchGate } from './starts/batch-gate.ts'
import { BatchIntake } from './intake/batch-intake.ts'
import { ComparedMembers } from './membership/companions.ts'
import { Committer } from './commits/committer.ts'
import { ForeignCopies } from './copies/foreign-copies.ts'
import { FirstStart } from './starts/first-start.ts'
import { GroupOffsets, type Committed } from './commits/group-offsets.ts'
import { Membership } from './membership/membership.ts'
import { PartitionHolds } from './membership/partition-holds.ts'
import { partitionHealth, unfetchedOf } from './intake/partition-health.ts'
import type { ResolvedKafka } from './options/resolve.ts'
import type { PartitionEpoch } from './membership/partition-epoch.ts'
import { unreachable } from './unreachable.ts'
import { kafkaEvents, type Report } from './report.ts'
import { RetryDelays } from './intake/retry-delays.ts'
import type { GroupJoin, KafkaClient } from './client.ts'
import { redeliveryWindow } from './redelivery-window.ts'
import { after, healthOf, type SourceState } from './membership/source-state.ts'
import { Standstill } from './membership/standstill.ts'
import { Subscription } from './membership/subscription.ts'
import { StoredStarts } from './starts/stored-starts.ts'
import { comparePlaces, prepareTopics } from './copies/topics.ts'
import type { TopicPartition } from './topic-partition.ts'

interface SourceParts {
  readonly client: KafkaClient
  readonly adminClient: AdminClient
  readonly options: ResolvedKafka
  /** Sent to the other members of the group. */
  readonly consumerName: string | undefined
  /** Closes resources of the source that outlive its consumer. */
  readonly afterClose: () => Promise<void>
}

const FLUSH_WITHIN_MS = 3_000

/** A broker answers with at least one record batch, however large, and with these limits with no more. */
const ONE_BATCH = { minBytes: 1, maxBytes: 1, maxBytesPerPartition: 1 }

/**
 * The Kafka source. Handlers run outside of kafkajs, which only fetches and keeps the membership. A timer commits the
 * progress of the deliveries, as the watermark of each partition.
 */
export class KafkaSource implements Source {
  readonly system = 'kafka'
  readonly boundsItself = true
  readonly seeksPositions = true
  readonly group: string
  readonly origins: readonly string[]
  readonly leaveAfterMs: DurationMs | 'never'
  readonly #parts: SourceParts
  readonly #report: Report
  readonly #assignment = new Assignment()
  readonly #committer: Committer
  readonly #offsets: GroupOffsets
  readonly #gate: BatchGate
  readonly #batches: BatchIntake
  readonly #holds: PartitionHolds
  readonly #delays: RetryDelays
  readonly #membership: Membership
  readonly #subscription: Subscription
  readonly #standstill: Standstill
  readonly #events = kafkaEvents()
  readonly #firstStart: FirstStart | undefined
  #storedStarts: StoredStarts | undefined
  #intake: Intake | undefined
  #closed: Promise<void> | undefined
  #state: SourceState = { phase: 'idle' }

  constructor(parts: SourceParts) {
    const { client, adminClient, options, consumerName } = parts
    this.#parts = parts
    this.group = options.group
    this.origins = options.topology.sources
    this.leaveAfterMs = options.leaveAfterMs
    this.#report = (event, detail) => this.#events.report(event, detail)
    this.#committer = new Committer(this.#assignment, {
      report: this.#report,
      onSettled: (count, durationMs) => {
        this.#standstill.committed()
        this.#events.tell({ type: 'settles', count, durationMs })
      },
      onBroken: (epoch, error) => this.#broken(epoch, error),
      consumer: () => this.#membership.consumer,
    })
    this.#subscription = new Subscription({
      adminClient,
      options,
      report: this.#report,
      changed: (detail) => {
        this.#committer.commitBeforeRebalance()
        this.#membership.rejoin(detail)
      },
    })
    const companions = new ComparedMembers(
      { consumer: consumerName, topics: options.topology.subscribed },
      this.#report,
    )
    this.#membership = new Membership(
      {
        ...options,
        client,
        companions,
        report: this.#report,
        topics: () => this.#subscription.topics(),
        fetching: () => (this.#standstill.isSearching ? ONE_BATCH : {}),
        isWorthAnotherTry: (error) => adminClient.isWorthAnotherTry(error),
      },
      {
        batch: (payload) => {
          this.#standstill.handedOver(payload.batch)
          return this.#batches.take(payload)
        },
        controlBatch: (batch) => this.#batches.stepOver(batch),
        joined: (join) => this.#joined(join),
        changed: (join) => this.#changed(join),
        revoking: (partitions) => this.#revoking(partitions),
        rebalancing: () => this.#rebalancing(),
        fetchFailed: () => this.#subscription.suspect(),
        turned: () => this.#standstill.turned(),
        lookedAway: () => this.#lookBack(),
        halted: () => this.#halted(),
        waiting: (detail) => this.#become({ phase: 'waiting', detail }),
      },
    )
    this.#offsets = new GroupOffsets(adminClient, options.group, () => this.#subscription.present)
    if (options.startAt === 'latest')
      this.#firstStart = new FirstStart(adminClient, this.#offsets, options.topology.sources)
    this.#gate = new BatchGate({
      assignment: this.#assignment,
      committer: this.#committer,
      offsets: this.#offsets,
      report: this.#report,
      seek: (epoch, offset) => this.#membership.seek(epoch, offset),
      renewed: (epoch) => {
        this.#delays.anotherLog(epoch)
        this.#renewed()
      },
      startOf: (epoch) => this.#firstStart?.endOf(epoch),
      stored: () => this.#storedStarts,
    })
    this.#holds = new PartitionHolds({
      assignment: this.#assignment,
      report: this.#report,
      consumer: () => this.#membership.consumer,
      resuming: (epoch) => this.#gate.lookBack(epoch),
    })
    this.#standstill = new Standstill({
      sessionMs: options.consumerConfig.sessionTimeout,
      holds: this.#holds,
      report: this.#report,
      epochs: () => this.#assignment.epochs,
      offsetOf: (epoch) => this.#committer.floorOf(epoch)?.offset,
      committedOf: async ({ topic, partition, join }) =>
        (await this.#offsets.committed(join, topic, partition))?.offset,
      // Not from inside the join that shows it.
      joinAgain: (why) => queueMicrotask(() => this.#membership.rejoin(why)),
      now: () => performance.now(),
    })
    this.#delays = new RetryDelays(this.#holds, options.topology.places)
    this.#batches = new BatchIntake({
      assignment: this.#assignment,
      committer: this.#committer,
      gate: this.#gate,
      holds: this.#holds,
      delays: this.#delays,
      foreign: new ForeignCopies(options, this.#report),
      limits: { bytes: options.maxBytesInFlight, watermarkLag: options.maxWatermarkLag },
      order: options.order,
      originOf: (topic, named) => options.topology.originOf(topic, named),
      heartbeatEveryMs: options.consumerConfig.heartbeatInterval,
      report: this.#report,
      readAgain: (epoch) => this.#readAgain(epoch),
    })
  }

  async open(intake: Intake): Promise<void> {
    const { options } = this.#parts
    this.#useStored(intake)
    this.#intake = intake
    this.#events.begin(intake)
    this.#batches.begin(intake)
    this.#become({ phase: 'connecting' })
    try {
      await this.#membership.start(() => this.#prepare())
    } catch (error) {
      throw unreachable(this.group, error)
    }
    this.#refuseIfClosed()
    this.#committer.begin(options.commitEveryMs)
    await this.#firstStart?.settle(
      () => this.#commitStarts(),
      () => this.#closed !== undefined,
    )
    this.#refuseIfClosed()
  }

  /** Runs before the group is joined. Resolves with the topics to join with. */
  async #prepare(): Promise<readonly string[]> {
    const { adminClient, options } = this.#parts
    const { existing, places } = await prepareTopics(adminClient, options, this.#report)
    const topics = await this.#subscription.topics(existing)
    // Neither asks for what the other finds.
    await Promise.all([comparePlaces(adminClient, places, this.#report), this.#readStarts()])
    this.#refuseIfClosed()
    this.#become({ phase: 'joining' })
    return topics
  }

  /** Only of topics that exist: offsets of a missing one cannot be requested. */
  async #readStarts(): Promise<void> {
    const committed = await this.#offsets.allCommitted().catch(() => new Map<string, Committed>())
    this.#committer.startFrom(committed)
    this.#storedStarts?.startFrom(committed)
    await this.#offsets.untilMade(committed, () => this.#closed !== undefined)
    this.#refuseIfClosed()
    await this.#firstStart?.look()
  }

  rewind(stream: string): void {
    const epoch = this.#assignment.epochs.find(({ name }) => name === stream)
    if (epoch === undefined || this.#storedStarts === undefined) return
    this.#report('position-rewound', `${stream}: behind ${epoch.watermark}`)
    this.#readAgain(epoch)
  }

  pause(): void {
    this.#holds.pause()
  }

  resume(): void {
    this.#holds.resume()
  }

  leave(why: string): void {
    if (this.#closed !== undefined) return
    this.#become({ phase: 'away', why })
    this.#committer.commitBeforeRebalance()
    this.#membership.stepAside()
    this.#assignment.join({}) // Others may have the partitions from now on: nothing of them is settled here.
    this.#holds.apply()
    this.#report('stepped-aside', why)
    this.#intake?.standingChanged()
  }

  comeBack(): void {
    this.#become({ phase: 'back' })
    this.#membership.comeBack()
  }

  /** Paused partitions keep the membership. */
  async stopIntake(): Promise<void> {
    this.#endIntake()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  health(): SourceHealth {
    const partitions = this.#assignment.epochs.map((epoch) => partitionHealth(epoch, this.#holds.isPaused))
    const told = healthOf(this.#state)
    const ofPartitions = told.ready ? (this.#storedStarts?.problem ?? this.#subscription.problem) : undefined
    const problem = this.#state.phase === 'stopped' ? undefined : (this.#standstill.problem ?? ofPartitions)
    const state = problem === undefined ? told : { ready: false, detail: problem }
    return { ...state, partitions, counts: this.#events.counts }
  }

  *unfetched(): Iterable<Work> {
    if (!this.#holds.isFetching || this.#state.phase !== 'consuming') return
    for (const epoch of this.#assignment.epochs) {
      const work = unfetchedOf(epoch)
      if (work !== undefined) yield work
    }
  }

  backlog(): Promise<readonly Backlog[]> {
    const { sources } = this.#parts.options.topology
    return this.#offsets.backlog(this.#subscription.present.filter((topic) => sources.includes(topic)))
  }

  redeliveryWindowMs(): Promise<RedeliveryWindow | undefined> {
    const { adminClient, options } = this.#parts
    return redeliveryWindow(adminClient, options.topology.subscribed)
  }

  #joined({ memberAssignment }: GroupJoin): void {
    // A join that had begun before it left, or was stopped.
    if (this.#closed !== undefined || this.#state.phase === 'away') return this.#assignment.join({})
    this.#assignment.join(memberAssignment)
    this.#delays.forget()
    this.#committer.joined()
    this.#holds.apply() // mutant: kafka-pause-lost-at-a-rebalance
    this.#become({ phase: 'consuming', partitions: this.#assignment.epochs.length })
    this.#intake?.standingChanged()
    this.#report('group-joined', this.#assignment.epochs.map(({ name }) => name).join(' '))
    this.#gate.joined()
    this.#storedStarts?.joined()
    this.#standstill.joined()
  }

  #changed({ memberAssignment }: GroupJoin): void {
    if (this.#closed !== undefined || this.#state.phase === 'away') return
    this.#assignment.change(memberAssignment)
    this.#offsets.forget()
    this.#committer.joined()
    this.#holds.apply()
    this.#become({ phase: 'consuming', partitions: this.#assignment.epochs.length })
    this.#intake?.standingChanged()
    this.#report('group-changed', this.#assignment.epochs.map(({ name }) => name).join(' '))
    this.#gate.joined()
    this.#storedStarts?.changed()
  }

  async #revoking(partitions: readonly TopicPartition[]): Promise<void> {
    await this.#committer.commitNow(FLUSH_WITHIN_MS)
    this.#assignment.leave(partitions)
    this.#intake?.standingChanged()
  }

  /** @throws ConfigError `CONFIG_INVALID` */
  #useStored({ storedPositions: stored }: Intake): void {
    if (stored === undefined) return
    this.#storedStarts = new StoredStarts({
      stored,
      order: this.#parts.options.order,
      assignment: this.#assignment,
      committer: this.#committer,
      offsets: this.#offsets,
      holds: this.#holds,
      report: this.#report,
      begin: (epoch) => this.#gate.begin(epoch),
      beginWhereJoined: (epoch) => this.#gate.readAgain(epoch),
      readAgain: (epoch) => this.#readAgain(epoch),
    })
  }

  /** Its deliveries can no longer be settled. Their results are in the store, or they are delivered again. */
  #readAgain(epoch: PartitionEpoch): void {
    const next = this.#assignment.end(epoch)
    this.#renewed()
    if (this.#storedStarts !== undefined) this.#storedStarts.again(next)
    else if (next !== undefined) void this.#gate.readAgain(next)
  }

  /** Its deliveries can no longer be settled, and come again. */
  #broken(epoch: PartitionEpoch, error: Error): void {
    this.#events.tell({ type: 'invariant-broken', error })
    this.#report('invariant-broken', error.message)
    this.#readAgain(epoch)
  }

  #lookBack(): void {
    for (const epoch of this.#assignment.epochs) this.#gate.lookBack(epoch)
  }

  /** The holds of the old epoch no longer apply. */
  #renewed(): void {
    this.#holds.apply()
    this.#intake?.standingChanged()
  }

  #rebalancing(): void {
    this.#committer.commitBeforeRebalance()
    this.#assignment.raise()
    this.#standstill.left()
    this.#become({ phase: 'rebalancing' })
    this.#intake?.standingChanged()
    this.#report('rebalancing', this.group)
  }

  #halted(): void {
    this.#committer.forget()
    this.#delays.forget()
    this.#assignment.raise()
    this.#standstill.left()
    this.#become({ phase: 'waiting', detail: 'reconnecting' })
    this.#intake?.standingChanged()
  }

  /** The only place that writes the state. */
  #become(next: Parameters<typeof after>[1]): void {
    this.#state = after(this.#state, next)
  }

  #endIntake(): void {
    this.#batches.end()
    this.#delays.forget()
    this.#holds.end()
  }

  #refuseIfClosed(): void {
    if (this.#closed !== undefined) throw new StoppedError('closed while it opened')
  }

  /** All in one request: if this process dies, either all partitions have a start or none. */
  async #commitStarts(): Promise<void> {
    await Promise.all(this.#assignment.epochs.map((epoch) => this.#gate.begin(epoch)))
    setImmediate(() => this.#committer.tick())
  }

  async #close(): Promise<void> {
    this.#endIntake()
    this.#storedStarts?.close()
    this.#subscription.close()
    await this.#committer.flush(FLUSH_WITHIN_MS) // mutant: kafka-last-commit-left-out
    this.#assignment.join({}) // Settles from here on could not be committed any more: refuse them.
    this.#holds.apply() // A loop whose partitions are all paused sleeps for `maxWaitTimeInMs` before it can leave.
    this.#become({ phase: 'stopped' })
    await this.#membership.leave()
    await this.#parts.afterClose()
  }
}
