import type { Message } from '../../src/ports/message.ts'
import type {
  DeadLetter,
  Delivery,
  Intake,
  Publisher,
  RetryCopy,
  Source,
  SourceHealth,
  Standing,
} from '../../src/ports/source.ts'

export interface Sent {
  readonly id?: string | undefined
  readonly payload?: unknown
  /** In place of the payload's JSON. */
  readonly bytes?: Uint8Array
  readonly lane?: string | undefined
  readonly headers?: Readonly<Record<string, unknown>>
  readonly timestamp?: number
}

/** A delivery whose standing the test writes. */
export class TestDelivery implements Delivery {
  readonly message: Message
  readonly lane: string | undefined
  current: Standing = 'current'
  /** How often it was settled with success. */
  settled = 0
  /** How often it was to be handed back, successful or not. */
  handBacks = 0
  readonly #onSettle: (delivery: TestDelivery) => void

  constructor(message: Message, lane: string | undefined, onSettle: (delivery: TestDelivery) => void) {
    this.message = message
    this.lane = lane
    this.#onSettle = onSettle
  }

  standing(): Standing {
    return this.current
  }

  settle(): boolean {
    if (this.current !== 'current') return false
    this.settled++
    this.#onSettle(this)
    return true
  }

  handBack(): boolean {
    this.handBacks++
    return this.current === 'current'
  }
}

/** A source and a dead-letter place in the hands of the test. */
export class RecordingSource implements Source, Publisher {
  readonly system = 'memory'
  readonly group = 'group'
  leaveAfterMs: number | 'never' | undefined
  /** `pause`, `resume`, `leave`, `comeBack`, `stopIntake`, `close`, in order. */
  readonly calls: string[] = []
  readonly deliveries: TestDelivery[] = []
  readonly deadLetters: DeadLetter[] = []
  readonly retries: RetryCopy[] = []
  /** The retry places. */
  retryDelayMs: (attempts: number) => number | undefined = () => undefined
  busyWaitMs: number | undefined
  /** Number of publishes that fail before one is confirmed. */
  publishFailures = 0
  /** Holds every publish until it resolves. */
  publishHeld: Promise<void> | undefined
  unfetched: NonNullable<Source['unfetched']> = () => []
  openFails: Error | undefined
  stopIntakeFails: Error | undefined
  closeFails: Error | undefined
  #intake: Intake | undefined
  readonly #journal: string[]

  constructor(journal: string[] = []) {
    this.#journal = journal
  }

  get isPaused(): boolean {
    return this.calls.findLast((call) => call === 'pause' || call === 'resume') === 'pause'
  }

  async open(intake: Intake): Promise<void> {
    this.#intake = intake
    if (this.openFails !== undefined) throw this.openFails
  }

  pause(): void {
    this.calls.push('pause')
  }

  resume(): void {
    this.calls.push('resume')
  }

  leave(why: string): void {
    this.calls.push(`leave: ${why}`)
  }

  comeBack(): void {
    this.calls.push('comeBack')
  }

  async stopIntake(): Promise<void> {
    this.calls.push('stopIntake')
    if (this.stopIntakeFails !== undefined) throw this.stopIntakeFails
  }

  async close(): Promise<void> {
    this.calls.push('close')
    if (this.closeFails !== undefined) throw this.closeFails
  }

  health(): SourceHealth {
    return { ready: true, detail: 'in the hands of a test' }
  }

  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    await this.#confirm()
    this.deadLetters.push(deadLetter)
    this.#journal.push(`dead letter ${deadLetter.reason}`)
  }

  async retryLater(copy: RetryCopy): Promise<void> {
    await this.#confirm()
    this.retries.push(copy)
    this.#journal.push(`retry copy ${copy.attempts}`)
  }

  async #confirm(): Promise<void> {
    await this.publishHeld
    if (this.publishFailures === 0) return
    this.publishFailures--
    throw new Error('not confirmed')
  }

  /** See `Intake`. */
  get isTurnOver(): boolean {
    return this.#intake?.isTurnOver === true
  }

  /** One batch. */
  deliver(...sent: readonly Sent[]): TestDelivery[] {
    const batch = sent.map((one) => this.#delivery(one))
    this.#intake?.deliver(batch)
    return batch
  }

  /** The copy that a retry place gives back when its time has come. */
  deliverCopy({ message }: Pick<RetryCopy, 'message'>, lane?: string): TestDelivery[] {
    const copy = { ...message, destination: 'topic.retry', position: `0@${this.deliveries.length}` }
    const batch = [this.#open(copy, lane)]
    this.#intake?.deliver(batch)
    return batch
  }

  /** The same messages once more. */
  redeliver(...earlier: readonly TestDelivery[]): TestDelivery[] {
    const batch = earlier.map(({ message, lane }) => this.#open(message, lane))
    this.#intake?.deliver(batch)
    return batch
  }

  /** Sets the standing of deliveries, and reports it. */
  stand(standing: Standing, ...deliveries: readonly TestDelivery[]): void {
    for (const delivery of deliveries) delivery.current = standing
    this.#intake?.standingChanged()
  }

  #delivery({ id, payload = {}, bytes, lane, headers = {}, timestamp }: Sent): TestDelivery {
    const message: Message = {
      system: 'memory',
      destination: 'topic',
      origin: 'topic',
      position: `0@${this.deliveries.length}`,
      key: null,
      value: bytes ?? Buffer.from(JSON.stringify(payload)),
      headers: id === undefined ? headers : { id, ...headers },
      timestamp,
    }
    return this.#open(message, lane)
  }

  #open(message: Message, lane: string | undefined): TestDelivery {
    const delivery = new TestDelivery(message, lane, () => this.#journal.push('settle'))
    this.deliveries.push(delivery)
    return delivery
  }
}
