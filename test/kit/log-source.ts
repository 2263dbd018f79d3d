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

interface Epoch {
  readonly stream: string
  /** Where it reads on. */
  next: bigint
  follows: bigint | undefined
}

/** Partitions of a log that begin where the store says: what the Kafka source is for strategy `offsets`, and no more. */
export class LogSource implements Source, Publisher {
  readonly system = 'kafka'
  readonly group: string
  readonly seeksPositions = true
  readonly deadLetters: DeadLetter[] = []
  readonly deliveries: LogDelivery[] = []
  /** As the broker has it: information, and where a stream without a stored position begins. */
  readonly committed: Map<string, bigint> = new Map()
  readonly rewound: string[] = []
  /** Holds every publish until it resolves. */
  publishHeld: Promise<void> | undefined
  /** Where all streams were read to stand, before the commits that came since. */
  staleRead: bigint | undefined
  #intake: Intake | undefined
  #isDead = false
  readonly #log: Map<string, Map<bigint, unknown>>
  readonly #epochs = new Map<string, Epoch>()

  /** Sources of one group on one log are processes that follow each other, or that both believe to own its partitions. */
  constructor(log: Map<string, Map<bigint, unknown>> = new Map(), group = 'group') {
    this.#log = log
    this.group = group
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    await this.join()
  }

  pause(): void {}
  resume(): void {}
  async stopIntake(): Promise<void> {}
  async close(): Promise<void> {}

  health(): SourceHealth {
    return { ready: true, detail: 'in the hands of a test' }
  }

  rewind(stream: string): void {
    this.rewound.push(stream)
    this.#epochs.delete(stream)
    this.#intake?.standingChanged()
    void this.#begin([stream])
  }

  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    await this.publishHeld
    if (this.#isDead) return new Promise(() => {})
    this.deadLetters.push(deadLetter)
    return undefined
  }

  /** A rebalance that gives back the same partitions. */
  async join(): Promise<void> {
    this.#epochs.clear()
    this.#intake?.standingChanged()
    await this.#begin([...this.#log.keys()])
  }

  /** Its process is gone: nothing is delivered, published or settled any more. */
  die(): void {
    this.#isDead = true
  }

  /** Delivers what it has not yet. */
  fetch(stream: string, most: number = Number.POSITIVE_INFINITY): void {
    const epoch = this.#epochs.get(stream)
    if (epoch === undefined || this.#isDead) return
    const batch: LogDelivery[] = []
    for (const [offset, payload] of this.#log.get(stream) ?? []) {
      if (offset < epoch.next || batch.length >= most) continue
      batch.push(this.#delivery(epoch, offset, payload))
      epoch.next = offset + 1n
    }
    this.deliveries.push(...batch)
    this.#intake?.deliver(batch)
  }

  async #begin(streams: readonly string[]): Promise<void> {
    const stored = await this.#intake?.storedPositions?.next(streams)
    for (const stream of streams) {
      const follows = this.staleRead ?? stored?.get(stream)?.next
      this.#epochs.set(stream, { stream, next: follows ?? this.committed.get(stream) ?? 0n, follows })
      this.fetch(stream)
    }
  }

  #delivery(epoch: Epoch, offset: bigint, payload: unknown): LogDelivery {
    const { stream, follows } = epoch
    epoch.follows = offset + 1n
    const message: Message = {
      system: 'kafka',
      destination: stream.slice(0, stream.indexOf('/')),
      origin: stream.slice(0, stream.indexOf('/')),
      position: `${stream}@${offset}`,
      key: null,
      value: Buffer.from(JSON.stringify(payload)),
      headers: {},
    }
    return new LogDelivery(
      message,
      { stream, offset, follows },
      {
        standing: () => (this.#epochs.get(stream) === epoch ? 'current' : 'stale'),
        settled: () => void this.committed.set(stream, offset + 1n),
      },
    )
  }
}

export class LogDelivery implements Delivery {
  readonly message: Message
  readonly lane: string
  readonly position: StreamPosition
  readonly #of: { standing(): Standing; settled(): void }

  constructor(message: Message, position: StreamPosition, of: { standing(): Standing; settled(): void }) {
    this.message = message
    this.lane = position.stream
    this.position = position
    this.#of = of
  }

  standing(): Standing {
    return this.#of.standing()
  }

  settle(): boolean {
    if (this.standing() !== 'current') return false
    this.#of.settled()
    return true
  }
}
