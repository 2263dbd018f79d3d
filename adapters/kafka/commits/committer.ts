import { describeError, InvariantError, landmarkText, type DurationMs, type Landmark } from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { Committed } from './group-offsets.ts'
import { endsGeneration, errorType } from '../protocol-error.ts'
import type { Report } from '../report.ts'
import type { BatchPayload, CommitRequest, MemberControl } from '../client.ts'

/** Sends a request in the group generation of the moment of the call. */
type Send = (request: CommitRequest) => Promise<void>

interface CommitterHooks {
  readonly report: Report
  /** `count` more deliveries are below an offset whose commit took `durationMs`. */
  readonly onSettled: (count: number, durationMs: number) => void
  /** A commit was refused because it must not be sent: nothing more of the epoch may be settled. */
  readonly onBroken: (epoch: PartitionEpoch, error: Error) => void
  /** To commit with before there is a payload: there may be only control batches so far. */
  readonly consumer: () => Pick<MemberControl, 'commitOffsets'> | undefined
}

/** The last offset of a partition known to be committed. */
export interface Floor {
  readonly offset: bigint
  /** The last message below it, if known. */
  readonly landmark: Landmark | undefined
}

interface Due extends Floor {
  readonly epoch: PartitionEpoch
  /** Deliveries below the offset since the epoch began. */
  readonly finished: number
}

/**
 * Commits the watermarks of the live epochs, all partitions in one request. The call reads the group's generation
 * synchronously, and kafkajs installs a new generation a few microtasks before it says so. Therefore watermarks are
 * read and sent in one synchronous block that starts from a timer or an immediate, never from a promise.
 */
export class Committer {
  readonly #assignment: Assignment
  readonly #hooks: CommitterHooks
  /** For the life of the process, whatever the group says. */
  readonly #floors = new Map<string, Floor>()
  #floorsAtJoin: ReadonlyMap<string, Floor> = new Map()
  #send: Send | undefined
  #inFlight: Promise<void> | undefined
  #waitsForJoin = false
  #timer: NodeJS.Timeout | undefined

  constructor(assignment: Assignment, hooks: CommitterHooks) {
    this.#assignment = assignment
    this.#hooks = hooks
  }

  /** Commits use the newest payload of `eachBatch`: it reports refusals, and still works while the consumer stops. */
  use(payload: BatchPayload): void {
    this.#send = (request) => payload.commitOffsetsIfNecessary(request)
  }

  joined(): void {
    this.#waitsForJoin = false
    this.#floorsAtJoin = new Map(this.#floors)
  }

  /** The run of the payload's consumer has ended. */
  forget(): void {
    this.#send = undefined
    this.#inFlight = undefined
    this.#waitsForJoin = false
  }

  floorOf({ name }: PartitionEpoch): Floor | undefined {
    return this.#floors.get(name)
  }

  /** The floor before anything was committed in this join. */
  floorAtJoin({ name }: PartitionEpoch): Floor | undefined {
    return this.#floorsAtJoin.get(name)
  }

  /** The group's offsets before the join: kafkajs may overwrite them before anybody else can read them. */
  startFrom(committed: ReadonlyMap<string, Committed>): void {
    for (const [name, floor] of committed) if (floor.offset >= 0n) this.#floors.set(name, floor)
  }

  /** The partition's log is another one. */
  dropFloor({ name }: PartitionEpoch): void {
    this.#floors.delete(name)
  }

  /** Commits what is due, again and again, until `flush`. */
  begin(everyMs: DurationMs): void {
    this.#timer = setInterval(() => this.tick(), everyMs)
  }

  /** Must be called from a timer. */
  tick(): void {
    const consumer = this.#hooks.consumer()
    if (consumer === undefined) return
    const withoutPayload: Send = (request) => consumer.commitOffsets(flatten(request))
    if (this.#inFlight === undefined && !this.#waitsForJoin) this.#commit(this.#send ?? withoutPayload) // mutant: kafka-commit-after-a-revocation
  }

  /**
   * Must be called synchronously before the group rebalances: the broker still accepts the commit, which avoids
   * redeliveries.
   */
  commitBeforeRebalance(): void {
    if (this.#send !== undefined) this.#commit(this.#send)
  }

  /** Sends what is due now. Resolves when it was answered, or after `withinMs`. Must be called synchronously, as above. */
  async commitNow(withinMs: number): Promise<void> {
    this.commitBeforeRebalance()
    await answered(this.#inFlight, withinMs)
  }

  /** Sends the last commit. Resolves when it was answered, or after `withinMs`. */
  async flush(withinMs: number): Promise<void> {
    clearInterval(this.#timer)
    await answered(this.#inFlight, withinMs)
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        if (this.#send !== undefined) this.#commit(this.#send)
        resolve()
      })
    })
    await answered(this.#inFlight, withinMs)
  }

  #commit(send: Send): void {
    const due = this.#due()
    if (due.length === 0) return
    const { joins } = this.#assignment
    const sentAt = performance.now()
    const inFlight = send(requestOf(due)).then(
      () => this.#accepted(due, sentAt),
      (error: unknown) => this.#refused(due, error, joins),
    )
    this.#inFlight = inFlight
    void inFlight.finally(() => {
      if (this.#inFlight === inFlight) this.#inFlight = undefined
    })
  }

  #due(): readonly Due[] {
    return this.#assignment.epochs.flatMap((epoch) => {
      const offset = epoch.watermark
      if (offset === undefined || offset === epoch.committed || this.#isBroken(epoch, offset)) return [] // mutant: commit-of-the-highest-offset 2, commit-over-what-waits 2
      const floor = this.#floors.get(epoch.name)
      const { landmark, finished } = epoch
      return floor !== undefined && offset < floor.offset ? [] : [{ epoch, offset, landmark, finished }] // mutant: kafka-commit-back
    })
  }

  #isBroken(epoch: PartitionEpoch, offset: bigint): boolean {
    const { joins } = this.#assignment
    const why = epoch.join === joins ? epoch.whyNotCommit(offset) : `${offset}, of join ${epoch.join} in join ${joins}`
    if (why === undefined) return false
    this.#hooks.onBroken(epoch, new InvariantError('committer.isBroken', `a commit of ${epoch.name}: ${why}`))
    return true
  }

  #accepted(due: readonly Due[], sentAt: number): void {
    let settled = 0
    for (const { epoch, offset, landmark, finished } of due) {
      settled += Math.max(0, finished - epoch.settled)
      epoch.settled = Math.max(finished, epoch.settled)
      epoch.committed = offset
      const floor = this.#floors.get(epoch.name)
      if (!epoch.isVoid && (floor === undefined || floor.offset < offset)) {
        this.#floors.set(epoch.name, { offset, landmark: landmark ?? floor?.landmark })
      }
    }
    if (settled > 0) this.#hooks.onSettled(settled, performance.now() - sentAt)
  }

  #refused(due: readonly Due[], error: unknown, joins: number): void {
    const type = errorType(error)
    const hasJoinedSince = joins !== this.#assignment.joins
    if (endsGeneration(type) && !hasJoinedSince) this.#waitsForJoin = true
    this.#hooks.report('commit-refused', `${type}: ${textOf(due)}: ${describeError(error)}`)
  }
}

function requestOf(due: readonly Due[]): CommitRequest {
  const topics = new Map<string, CommitRequest['topics'][number]['partitions']>()
  for (const { epoch, offset, landmark } of due) {
    const partitions = topics.get(epoch.topic) ?? []
    const metadata = landmark === undefined ? null : landmarkText(landmark, offset) // mutant: kafka-landmark-not-committed
    partitions.push({ partition: epoch.partition, offset: offset.toString(), metadata })
    topics.set(epoch.topic, partitions)
  }
  return { topics: [...topics].map(([topic, partitions]) => ({ topic, partitions })) }
}

function flatten({ topics }: CommitRequest): Parameters<MemberControl['commitOffsets']>[0] {
  return topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, ...partition })))
}

function textOf(due: readonly Due[]): string {
  return due.map(({ epoch, offset }) => `${epoch.name}@${offset}`).join(' ')
}

async function answered(commit: Promise<void> | undefined, withinMs: number): Promise<void> {
  if (commit === undefined) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, withinMs)
  })
  await Promise.race([commit, late])
  clearTimeout(timer)
}
