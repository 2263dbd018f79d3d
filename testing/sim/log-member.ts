import { Watermark } from '../../src/core/watermark.ts'
import { BrokerError } from '../../src/foundation/errors.ts'
import type { Message } from '../../src/ports/message.ts'
import type {
  DeadLetter,
  Delivery,
  Intake,
  Publisher,
  Source,
  SourceHealth,
  Standing,
  StreamPosition,
} from '../../src/ports/source.ts'
import type { SimProcess } from './process.ts'
import type { Stage } from './stage.ts'

export interface LogPartition {
  readonly name: string
  readonly log: Message[]
  /** Offset of the next message for a new member. */
  committed: number
  owner: LogMember | undefined
  /** Fetches that have found nothing yet. */
  readonly waiting: Set<() => void>
}

export interface LogCommit {
  readonly partition: LogPartition
  readonly next: number
  /** The epoch of the watermark. */
  readonly via: string
}

/** What a member asks of its broker. */
export interface LogServer {
  readonly stage: Stage
  readonly group: string
  enter(member: LogMember): void
  leave(member: LogMember): void
  isMember(member: LogMember): boolean
  commit(member: LogMember, generation: number, commit: LogCommit): boolean
  deadLetter(deadLetter: DeadLetter, type: 'ok' | 'info'): void
}

const COMMIT_EVERY_MS = 20
const ASK_AGAIN_MS = 50
/** Messages of one fetch. */
const FETCH = 4

/** One assignment epoch of a partition. */
interface Epoch {
  readonly partition: LogPartition
  readonly via: string
  readonly watermark: Watermark<number>
  /** The next offset to fetch; `undefined` until the committed offset has been read. */
  next: number | undefined
  /** Strategy `offsets`: the offset after the previous delivery. */
  follows: bigint | undefined
  standing: Standing
  isFetching: boolean
  isCommitting: boolean
  /** The offset that the broker has confirmed. */
  committed: number
  /** Strategy `offsets`: everything below the starting offset is over, whatever was committed. */
  floor: number
  readonly open: Map<number, Delivery>
}

/** The consumer side: epochs, watermarks and commits, as in a Kafka adapter. */
export class LogMember implements Source, Publisher {
  readonly system = 'memory'
  readonly seeksPositions = true
  readonly group: string
  readonly process: SimProcess
  readonly #broker: LogServer
  #generation = 0
  #epochs: Epoch[] = []
  #intake: Intake | undefined
  #isPaused = false
  #hasIntakeEnded = false

  constructor(broker: LogServer, process: SimProcess) {
    this.group = broker.group
    this.process = process
    this.#broker = broker
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    this.#travel(() => this.#broker.enter(this))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const epoch of this.#epochs) this.#fetch(epoch)
  }

  async stopIntake(): Promise<void> {
    this.#hasIntakeEnded = true
  }

  /** Commits finished offsets, then leaves. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#travel(() => {
        for (const epoch of this.#epochs) this.#commitOf(epoch)?.()
        this.#broker.leave(this)
        this.process.after(1, () => {
          this.#lose(this.#epochs)
          resolve()
        })
      })
    })
  }

  health(): SourceHealth {
    return { ready: this.#epochs.length > 0, detail: 'consuming' }
  }

  deadLetter(deadLetter: DeadLetter): Promise<void> {
    const { stage } = this.#broker
    return new Promise((resolve, reject) => {
      const isLost = stage.faults.happens('publishFails')
      const fail = (): void => reject(new BrokerError('BROKER_PUBLISH_REFUSED', 'not confirmed'))
      if (isLost && stage.chance.happens(0.5)) return void this.process.after(ASK_AGAIN_MS, fail)
      this.#travel(() => {
        this.#broker.deadLetter(deadLetter, isLost ? 'info' : 'ok')
        this.process.after(isLost ? ASK_AGAIN_MS : stage.faults.latencyMs(), isLost ? fail : resolve)
      })
    })
  }

  rewind(stream: string): void {
    const epoch = this.#epochs.find(({ partition }) => partition.name === stream)
    if (epoch === undefined) return
    epoch.standing = 'stale'
    this.#epochs = this.#epochs.map((one) => (one === epoch ? this.#begin(epoch.partition) : one))
    this.#intake?.standingChanged()
  }

  assigned(generation: number, partitions: readonly LogPartition[]): void {
    if (generation <= this.#generation || this.#intake === undefined) return
    this.#generation = generation
    for (const epoch of this.#epochs) epoch.standing = partitions.includes(epoch.partition) ? 'stale' : 'lost'
    this.#epochs = partitions.map((partition) => this.#begin(partition))
    this.#intake.standingChanged()
  }

  /** The member was silent for too long, and learns that it was removed. */
  thrownOut(): void {
    if (this.#broker.isMember(this) || this.#intake === undefined) return
    this.#lose(this.#epochs)
    if (!this.#hasIntakeEnded) this.#travel(() => this.#broker.enter(this))
  }

  redeliver(): void {
    if (this.#hasIntakeEnded || this.process.isDead) return
    const again = this.#epochs.flatMap(({ open }) => [...open.values()]).slice(0, FETCH)
    this.process.after(1, () => {
      this.#intake?.deliver(
        again
          .filter((delivery) => delivery.standing() === 'current')
          .map((delivery) => ({ ...delivery, settle: () => delivery.standing() === 'current' })),
      )
    })
  }

  #begin(partition: LogPartition): Epoch {
    const epoch: Epoch = {
      partition,
      via: viaOf(this, this.#generation),
      watermark: new Watermark(),
      next: undefined,
      follows: undefined,
      standing: 'current',
      isFetching: false,
      isCommitting: false,
      committed: 0,
      floor: 0,
      open: new Map(),
    }
    this.#fetch(epoch)
    return epoch
  }

  #lose(epochs: readonly Epoch[]): void {
    for (const epoch of epochs) epoch.standing = 'lost'
    this.#epochs = []
    this.#intake?.standingChanged()
  }

  #mayFetch(epoch: Epoch): boolean {
    return epoch.standing === 'current' && !this.#isPaused && !this.#hasIntakeEnded
  }

  #fetch(epoch: Epoch): void {
    if (epoch.isFetching || !this.#mayFetch(epoch)) return
    epoch.isFetching = true
    if (epoch.next === undefined && this.#intake?.storedPositions !== undefined) void this.#seek(epoch)
    else this.#ask(epoch)
  }

  /** Strategy `offsets`: begins at the stored position, if there is one. */
  async #seek(epoch: Epoch): Promise<void> {
    try {
      const stored = (await this.#intake?.storedPositions?.next([epoch.partition.name]))?.get(
        epoch.partition.name,
      )?.next
      if (stored !== undefined) epoch.next = epoch.floor = Number(stored)
      epoch.follows = stored
      this.#ask(epoch)
      if (epoch.floor > epoch.partition.committed) this.#commitSoon(epoch)
    } catch {
      this.process.after(ASK_AGAIN_MS, () => {
        epoch.isFetching = false
        this.#fetch(epoch)
      })
    }
  }

  #ask(epoch: Epoch): void {
    this.#travel(() => {
      const { partition } = epoch
      epoch.next ??= partition.committed
      const messages = partition.log.slice(epoch.next, epoch.next + FETCH)
      if (messages.length > 0) this.process.after(1, () => this.#arrive(epoch, messages))
      else if (epoch.standing === 'current') partition.waiting.add(() => this.#ask(epoch))
    })
  }

  #arrive(epoch: Epoch, messages: readonly Message[]): void {
    epoch.isFetching = false
    if (!this.#mayFetch(epoch) || epoch.next === undefined) return
    const from = epoch.next
    epoch.next += messages.length
    const { name } = this.process
    for (const { position } of messages) this.#record({ f: 'deliver', place: position, via: epoch.via }, name)
    this.#intake?.deliver(messages.map((message, index) => this.#delivery(message, from + index, epoch)))
    this.#fetch(epoch)
  }

  #record(event: Parameters<LogServer['stage']['record']>[1], proc: string): void {
    this.#broker.stage.record(proc, event)
  }

  #delivery(message: Message, offset: number, epoch: Epoch): Delivery {
    const ticket = epoch.watermark.receive(offset)
    const position: StreamPosition = { stream: epoch.partition.name, offset: BigInt(offset), follows: epoch.follows }
    epoch.follows = BigInt(offset) + 1n
    const delivery: Delivery = {
      message,
      lane: this.#laneOf(message, epoch.partition),
      position,
      standing: () => epoch.standing,
      settle: () => {
        if (epoch.standing !== 'current') return false // mutant: settle-old-epoch
        epoch.open.delete(offset)
        if (epoch.watermark.finish(ticket)) this.#commitSoon(epoch)
        return true
      },
    }
    epoch.open.set(offset, delivery)
    return delivery
  }

  /** Strategy `offsets` claims a stream in order. */
  #laneOf({ key }: Message, { name }: LogPartition): string | undefined {
    if (this.#intake?.storedPositions !== undefined) return name
    return key === null ? undefined : `${name}/${Buffer.from(key).toString('latin1')}`
  }

  #commitSoon(epoch: Epoch): void {
    if (epoch.isCommitting) return
    epoch.isCommitting = true
    this.process.after(COMMIT_EVERY_MS, () => {
      const commit = this.#commitOf(epoch)
      if (commit === undefined) return
      if (this.#broker.stage.faults.happens('requestLost')) return this.#commitEnded(epoch, ASK_AGAIN_MS)
      this.#travel(() => {
        if (commit()) epoch.committed = Math.max(epoch.committed, commit.next)
        this.#commitEnded(epoch, 1)
      })
    })
  }

  /** The broker knows a member by its generation, not by its epochs: an epoch that is over must not commit. */
  #commitOf(epoch: Epoch): ((() => boolean) & { readonly next: number }) | undefined {
    const { partition, via, watermark } = epoch
    const next = Math.max((watermark.finishedUpTo ?? -1) + 1, epoch.floor)
    if (epoch.standing !== 'current' || next <= epoch.committed) return undefined // mutant: settle-old-epoch 2
    const generation = this.#generation
    return Object.assign(() => this.#broker.commit(this, generation, { partition, next, via }), { next })
  }

  #commitEnded(epoch: Epoch, againInMs: number): void {
    this.process.after(againInMs, () => {
      epoch.isCommitting = false
      if (this.#commitOf(epoch) !== undefined) this.#commitSoon(epoch)
    })
  }

  #travel(arrive: () => void): void {
    if (!this.process.isDead) this.#broker.stage.travel(arrive)
  }
}

/** Names an epoch by its member and the generation of its group. */
export function viaOf(member: LogMember, generation: number): string {
  return `${member.process.name}#${generation}`
}
