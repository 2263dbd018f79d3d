import { BrokerError } from '../../src/foundation/errors.ts'
import type { Message } from '../../src/ports/message.ts'
import type {
  DeadLetter,
  Delivery,
  Intake,
  MessageCopy,
  Publisher,
  RetryCopy,
  Source,
  SourceHealth,
} from '../../src/ports/source.ts'
import type { SimProcess } from './process.ts'
import type { Stage } from './stage.ts'

/** A message in the queue, until it is acked. */
export interface Queued {
  readonly number: number
  readonly message: Message
}

/** One life of a channel, on the side of the server. */
export interface Channel {
  readonly via: string
  readonly consumer: QueueConsumer
  readonly unacked: Map<number, Queued>
  lastTag: number
  isOpen: boolean
}

export interface CopyTo {
  readonly to: 'dead-letter' | 'retry'
  readonly parked: boolean
  readonly reason: string
  readonly delayMs: number
}

/** What a consumer asks of its broker. */
export interface QueueServer {
  readonly stage: Stage
  readonly group: string
  readonly hasRetryPlaces: boolean
  open(consumer: QueueConsumer): Channel
  close(channel: Channel): void
  ack(channel: Channel, tag: number, deliveredVia: string): void
  requeue(channel: Channel, tag: number): void
  copy(deadLetter: MessageCopy, type: 'ok' | 'info', how: CopyTo): void
}

const OPEN_AGAIN_MS = 30
const ASK_AGAIN_MS = 50

/** The consumer side: channel generations and tags, as in a RabbitMQ adapter. */
export class QueueConsumer implements Source, Publisher {
  readonly system = 'memory'
  readonly group: string
  readonly process: SimProcess
  readonly busyWaitMs: number | undefined
  readonly #broker: QueueServer
  readonly #hasRetryPlaces: boolean
  #intake: Intake | undefined
  #channel: Channel | undefined
  #hasIntakeEnded = false
  #isClosed = false
  readonly #held = new Set<Delivery>()

  constructor(broker: QueueServer, process: SimProcess) {
    this.group = broker.group
    this.process = process
    this.#broker = broker
    this.#hasRetryPlaces = broker.hasRetryPlaces
    this.busyWaitMs = broker.hasRetryPlaces ? 300 : undefined
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    this.#openChannel()
  }

  /** The prefetch limits it. */
  pause(): void {}

  resume(): void {}

  async stopIntake(): Promise<void> {
    this.#hasIntakeEnded = true
  }

  close(): Promise<void> {
    this.#isClosed = true
    return new Promise((resolve) => {
      this.#travel(() => {
        if (this.#channel !== undefined) this.#broker.close(this.#channel)
        this.process.after(1, resolve)
      })
    })
  }

  health(): SourceHealth {
    return { ready: this.#channel !== undefined, detail: 'consuming' }
  }

  deadLetter(deadLetter: DeadLetter): Promise<void> {
    const { parked, reason } = deadLetter
    return this.#publish(deadLetter, { to: 'dead-letter', parked, reason, delayMs: 0 })
  }

  retryDelayMs(attempts: number): number | undefined {
    return this.#hasRetryPlaces ? 40 * attempts : undefined
  }

  retryLater(copy: RetryCopy): Promise<void> {
    return this.#publish(copy, { to: 'retry', parked: false, reason: copy.why, delayMs: copy.delayMs })
  }

  closed(channel: Channel): void {
    if (this.#channel !== channel) return
    this.#channel = undefined
    this.#held.clear()
    this.#intake?.standingChanged()
    if (!this.#isClosed) this.process.after(OPEN_AGAIN_MS, () => this.#openChannel())
  }

  arrive(channel: Channel, tag: number, { message }: Queued): void {
    if (this.#channel !== channel) return
    if (this.#hasIntakeEnded) return this.#travel(() => this.#broker.requeue(channel, tag))
    this.#broker.stage.record(this.process.name, { f: 'deliver', place: message.position, via: channel.via })
    let isOver = false
    const end = (tell: (on: Channel) => void): boolean => {
      const on = this.#channel
      // On another channel the tag is invalid, or belongs to another message.
      if (isOver || on !== channel) return false // mutant: ack-new-channel
      isOver = true
      this.#held.delete(delivery)
      this.#travel(() => tell(on))
      return true
    }
    const delivery: Delivery = {
      message,
      lane: message.key === null ? undefined : Buffer.from(message.key).toString('latin1'),
      standing: () => (this.#channel === channel ? 'current' : 'lost'),
      settle: () => end((on) => this.#broker.ack(on, tag, channel.via)),
      handBack: () => end((on) => this.#broker.requeue(on, tag)),
    }
    this.#held.add(delivery)
    this.#intake?.deliver([delivery])
  }

  redeliver(): void {
    const again = [...this.#held].slice(0, 3)
    this.process.after(1, () => {
      if (this.#hasIntakeEnded) return
      this.#intake?.deliver(
        again
          .filter((delivery) => this.#held.has(delivery))
          .map((delivery) => ({ ...delivery, settle: () => delivery.standing() === 'current', handBack: () => true })),
      )
    })
  }

  #openChannel(): void {
    this.#travel(() => {
      if (this.#isClosed || this.process.isDead) return
      const channel = this.#broker.open(this)
      this.#channel = channel
    })
  }

  #publish(deadLetter: MessageCopy, how: Parameters<QueueServer['copy']>[2]): Promise<void> {
    const { stage } = this.#broker
    return new Promise((resolve, reject) => {
      const isLost = stage.faults.happens('publishFails')
      const fail = (): void => reject(new BrokerError('BROKER_PUBLISH_REFUSED', 'not confirmed'))
      if (isLost && stage.chance.happens(0.5)) return void this.process.after(ASK_AGAIN_MS, fail)
      this.#travel(() => {
        this.#broker.copy(deadLetter, isLost ? 'info' : 'ok', how)
        this.process.after(isLost ? ASK_AGAIN_MS : stage.faults.latencyMs(), isLost ? fail : resolve)
      })
    })
  }

  #travel(arrive: () => void): void {
    if (!this.process.isDead) this.#broker.stage.travel(arrive)
  }
}
