import { Watermark } from '../core/watermark.ts'
import { OF_THE_CONSUMER } from '../consumer/consumer-table.ts'
import {
  ELSEWHERE,
  having,
  needed,
  optionsOf,
  or,
  plainText,
  where,
  whole,
  type Rule,
  type Table,
} from '../foundation/options.ts'
import type { Message } from '../ports/message.ts'
import type { DeadLetter, Delivery, Intake, Publisher, Source, SourceHealth, Standing } from '../ports/source.ts'

/** A message to publish. */
export interface MemoryMessage {
  readonly key?: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers?: Readonly<Record<string, unknown>>
  readonly timestamp?: number
  /** The AMQP property, for consumers with `messageId.property()`. */
  readonly messageId?: string
}

export interface MemoryBrokerOptions {
  /**
   * Number of partitions of every topic. A key always goes to the same partition.
   * @defaultValue 4
   */
  readonly partitions?: number
}

/** Deliveries handed over in one turn of the event loop, per partition. */
const BATCH = 250
const BROKER: Table<MemoryBrokerOptions> = { partitions: or(4, whole({ most: 10_000 })) }
/** Of `runMemory`, too. */
export const SOURCE: Table<{ readonly topic: string; readonly group: string }> = {
  topic: needed(plainText()),
  group: needed(plainText()),
  [ELSEWHERE]: OF_THE_CONSUMER,
}
const BYTES: Rule<Uint8Array | null> = where('bytes or null', (value) => value === null || value instanceof Uint8Array)
const MESSAGE: Table<MemoryMessage, 'timestamp' | 'messageId'> = {
  key: or(null, BYTES),
  value: needed(BYTES),
  headers: or({}, having('an object of headers')),
  timestamp: where('milliseconds since 1970', Number.isFinite),
  messageId: plainText(),
}

/**
 * A broker in this process, modelled on Kafka: partitioned logs, consumer groups with committed offsets, at-least-once
 * delivery. For tests and demos: it loses everything on exit.
 */
export class MemoryBroker {
  readonly #partitions: number
  readonly #topics = new Map<string, MemoryTopic>()
  /** Every dead letter, in order. */
  readonly deadLetters: DeadLetter[] = []
  #roundRobin = 0

  /** @throws ConfigError `CONFIG_INVALID` */
  constructor(options: MemoryBrokerOptions = {}) {
    this.#partitions = optionsOf('new MemoryBroker', BROKER, options).partitions
  }

  /** @throws ConfigError `CONFIG_INVALID` for an unknown field */
  publish(topic: string, message: MemoryMessage): void {
    const { key, value, headers, timestamp, messageId } = optionsOf('publish', MESSAGE, message)
    const { logs, groups } = this.#topic(topic)
    const partition = key === null ? this.#roundRobin++ % this.#partitions : hashOf(key) % this.#partitions
    const log = logs[partition]
    if (log === undefined) throw new TypeError('partition out of range (memory-broker.publish)')
    const position = `${partition}@${log.length}`
    log.push({
      system: 'memory',
      destination: topic,
      origin: topic,
      position,
      key,
      value,
      headers,
      timestamp,
      messageId,
    })
    for (const group of groups.values()) group.source?.wake()
  }

  /**
   * A source of this topic for this group. Opening another source for the group takes the partitions over.
   *
   * @throws ConfigError `CONFIG_INVALID`
   */
  source(topic: string, group: string): Source & Publisher {
    optionsOf('source', SOURCE, { topic, group })
    return new MemorySource(group, this.#topic(topic), this.#group(topic, group), (deadLetter) =>
      this.deadLetters.push(deadLetter),
    )
  }

  /** The messages of a topic, partition by partition. Empty if nothing was published. */
  logs(topic: string): readonly (readonly Message[])[] {
    return this.#topics.get(topic)?.logs ?? []
  }

  /** Gives all partitions a new epoch and delivers them again from their committed offsets. Running handlers go on. */
  rebalance(topic: string, group: string): void {
    this.#group(topic, group).source?.startEpoch('stale')
  }

  /** Delivers unsettled messages once more, as a broker may do at any time. Returns how many. */
  redeliver(topic: string, group: string, most: number = Number.POSITIVE_INFINITY): number {
    return this.#group(topic, group).source?.redeliver(most) ?? 0
  }

  /** Simulates the death of the consumer's process: it receives and settles nothing more. */
  kill(topic: string, group: string): void {
    this.#group(topic, group).source?.die()
  }

  /** Resolves when every published message is settled, including those published meanwhile. */
  drained(topic: string, group: string): Promise<void> {
    const { onCommit } = this.#group(topic, group)
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.isDrained(topic, group)) return
        onCommit.delete(look)
        resolve()
      }
      onCommit.add(look)
      look()
    })
  }

  /** True if every message published so far is settled. */
  isDrained(topic: string, group: string): boolean {
    const { committed } = this.#group(topic, group)
    return this.#topic(topic).logs.every((log, partition) => (committed[partition] ?? 0) >= log.length)
  }

  #topic(name: string): MemoryTopic {
    const known = this.#topics.get(name)
    if (known !== undefined) return known
    const logs = Array.from({ length: this.#partitions }, (): Message[] => [])
    const topic: MemoryTopic = { logs, groups: new Map() }
    this.#topics.set(name, topic)
    return topic
  }

  #group(topic: string, name: string): MemoryGroup {
    const { groups } = this.#topic(topic)
    const known = groups.get(name)
    if (known !== undefined) return known
    const group: MemoryGroup = {
      committed: Array.from({ length: this.#partitions }, () => 0),
      onCommit: new Set(),
      source: undefined,
    }
    groups.set(name, group)
    return group
  }
}

interface MemoryTopic {
  readonly logs: readonly Message[][]
  readonly groups: Map<string, MemoryGroup>
}

interface MemoryGroup {
  /** Per partition, the offset of the next message to deliver after a restart. */
  readonly committed: number[]
  readonly onCommit: Set<() => void>
  source: MemorySource | undefined
}

/** One assignment epoch of a partition. */
interface Epoch {
  readonly partition: number
  readonly watermark: Watermark<number>
  next: number
  standing: Standing
  /** Deliveries of this epoch by offset, until they are settled. */
  readonly open: Map<number, Delivery>
}

/** Whether it fetches: as `pause`, `resume` and `stopIntake` say. Nothing follows `ended`. */
type Flow = 'fetching' | 'paused' | 'ended'

/** `dead`: closed, killed, or its group has another source. */
type Life = { readonly is: 'new' | 'dead' } | { readonly is: 'open'; readonly intake: Intake }

class MemorySource implements Source, Publisher {
  readonly system = 'memory'
  readonly group: string
  readonly #topic: MemoryTopic
  readonly #state: MemoryGroup
  readonly #onDeadLetter: (deadLetter: DeadLetter) => void
  #epochs: Epoch[] = []
  #flow: Flow = 'fetching'
  #life: Life = { is: 'new' }
  #isScheduled = false

  constructor(group: string, topic: MemoryTopic, state: MemoryGroup, onDeadLetter: (deadLetter: DeadLetter) => void) {
    this.group = group
    this.#topic = topic
    this.#state = state
    this.#onDeadLetter = onDeadLetter
  }

  async open(intake: Intake): Promise<void> {
    this.#state.source?.die()
    this.#state.source = this
    this.#life = { is: 'open', intake }
    this.startEpoch('lost')
  }

  pause(): void {
    this.#turn('paused')
  }

  resume(): void {
    this.#turn('fetching')
  }

  async stopIntake(): Promise<void> {
    this.#turn('ended')
  }

  #turn(to: Flow): void {
    if (this.#flow === 'ended') return
    this.#flow = to
    if (to === 'fetching') this.wake()
  }

  get #intake(): Intake | undefined {
    return this.#life.is === 'open' ? this.#life.intake : undefined
  }

  async close(): Promise<void> {
    this.die()
  }

  health(): SourceHealth {
    const ready = this.#state.source === this
    return { ready, detail: ready ? 'consuming' : 'closed' }
  }

  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    this.#onDeadLetter(deadLetter)
  }

  wake(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      for (const epoch of this.#epochs) this.#deliverNext(epoch)
    })
  }

  startEpoch(old: 'stale' | 'lost'): void {
    for (const epoch of this.#epochs) epoch.standing = old
    this.#epochs = this.#state.committed.map((next, partition) => ({
      partition,
      watermark: new Watermark<number>(),
      next,
      standing: 'current',
      open: new Map(),
    }))
    this.#intake?.standingChanged()
    this.wake()
  }

  redeliver(most: number): number {
    if (this.#flow === 'ended') return 0
    const again = this.#epochs.flatMap(({ open }) => [...open.values()]).slice(0, most)
    this.#intake?.deliver(again.map((delivery) => ({ ...delivery, settle: () => delivery.standing() === 'current' })))
    return again.length
  }

  die(): void {
    const intake = this.#intake
    this.#life = { is: 'dead' }
    for (const epoch of this.#epochs) epoch.standing = 'lost'
    this.#epochs = []
    if (this.#state.source === this) this.#state.source = undefined
    intake?.standingChanged()
  }

  #deliverNext(epoch: Epoch): void {
    const intake = this.#intake
    if (this.#flow !== 'fetching' || intake === undefined || epoch.standing !== 'current') return
    const log = this.#topic.logs[epoch.partition] ?? []
    const messages = log.slice(epoch.next, epoch.next + BATCH)
    if (messages.length === 0) return
    const from = epoch.next
    epoch.next += messages.length
    intake.deliver(messages.map((message, index) => this.#delivery(message, from + index, epoch)))
    if (epoch.next < log.length) this.wake()
  }

  #delivery(message: Message, offset: number, epoch: Epoch): Delivery {
    const ticket = epoch.watermark.receive(offset)
    const lane = message.key === null ? undefined : `${epoch.partition}/${Buffer.from(message.key).toString('latin1')}`
    const delivery: Delivery = {
      message,
      lane,
      // `stale` promises a redelivery to this process, which is not possible after it died.
      standing: () => (this.#life.is === 'dead' ? 'lost' : epoch.standing),
      settle: () => {
        if (epoch.standing !== 'current') return false
        epoch.open.delete(offset)
        if (epoch.watermark.finish(ticket)) this.#commit(epoch)
        return true
      },
    }
    epoch.open.set(offset, delivery)
    return delivery
  }

  #commit({ partition, watermark }: Epoch): void {
    const upTo = watermark.finishedUpTo
    if (upTo === undefined) return
    const before = this.#state.committed[partition] ?? 0
    this.#state.committed[partition] = upTo + 1
    this.#intake?.report({ type: 'settles', count: upTo + 1 - before })
    for (const look of this.#state.onCommit) look()
  }
}

/** FNV-1a. It only spreads keys over partitions. */
function hashOf(key: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}
