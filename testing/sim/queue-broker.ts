import type { Message } from '../../src/ports/message.ts'
import type { MessageCopy, Publisher, Source } from '../../src/ports/source.ts'
import type { Place } from '../history.ts'
import type { Plan } from './plan.ts'
import { QueueConsumer, type Channel, type CopyTo, type Queued, type QueueServer } from './queue-consumer.ts'
import { wallAt, type SimProcess } from './process.ts'
import { subjectOf, type SimBroker, type SimMessage } from './sim-broker.ts'
import type { Stage } from './stage.ts'

/**
 * A broker modelled on RabbitMQ, with one queue: channels with their own prefetch and tags, acks that refer to a tag of
 * their channel, and redelivery of everything that a closed channel held.
 */
export class QueueBroker implements SimBroker, QueueServer {
  readonly system = 'queue'
  readonly group: string
  readonly stage: Stage
  /** Failed messages, and those with a busy owner, wait as copies. */
  readonly hasRetryPlaces: boolean
  readonly #prefetch: number
  readonly #heartbeatMs: number
  readonly #channels = new Set<Channel>()
  readonly #queued = new Map<number, Queued>()
  #ready: Queued[] = []
  #published = 0
  #opened = 0

  constructor(stage: Stage, group: string, { prefetch, hasRetryPlaces, silenceMs }: QueueSettings) {
    this.stage = stage
    this.#heartbeatMs = silenceMs
    this.group = group
    this.#prefetch = prefetch
    this.hasRetryPlaces = hasRetryPlaces
  }

  publish({ id, print, key }: SimMessage): void {
    this.#enqueue('producer', {
      key: key === null ? null : Buffer.from(key),
      value: Buffer.from(print),
      headers: id === undefined ? {} : { id },
      timestamp: wallAt(this.stage.timeline.now),
    })
  }

  join(process: SimProcess): Source & Publisher {
    const consumer = new QueueConsumer(this, process)
    process.onDeath(() => void this.stage.timeline.after(this.#heartbeatMs, () => this.closeAll(consumer)))
    process.onPause((forMs) => {
      if (forMs <= this.#heartbeatMs) return
      this.stage.timeline.after(this.#heartbeatMs, () => {
        if (process.isPaused) this.closeAll(consumer)
      })
    })
    return consumer
  }

  open(consumer: QueueConsumer): Channel {
    const via = `${consumer.process.name}#${++this.#opened}`
    const channel: Channel = { via, consumer, unacked: new Map(), lastTag: 0, isOpen: true }
    this.#channels.add(channel)
    this.#pump()
    return channel
  }

  /** Its unacked messages return to their places, and its consumer is informed. */
  close(channel: Channel): void {
    if (!channel.isOpen) return
    channel.isOpen = false
    this.#channels.delete(channel)
    this.stage.record('broker', { f: 'channel-closed', detail: channel.via })
    for (const queued of channel.unacked.values()) this.#putBack(queued)
    const { consumer } = channel
    consumer.process.after(this.stage.faults.latencyMs(), () => consumer.closed(channel))
    this.#pump()
  }

  closeAll(consumer: QueueConsumer): void {
    for (const channel of this.#open(({ consumer: of }) => of === consumer)) this.close(channel)
  }

  /** Acks the message with this tag on this channel, whatever the consumer meant. */
  ack(channel: Channel, tag: number, deliveredVia: string): void {
    const queued = channel.unacked.get(tag)
    if (!channel.isOpen || queued === undefined) return
    channel.unacked.delete(tag)
    // A message that was delivered twice may have been acked by the other consumer already.
    if (!this.#queued.delete(queued.number)) return this.#pump()
    const { via, consumer } = channel
    this.stage.record(consumer.process.name, { f: 'ack', place: queued.message.position, via, deliveredVia })
    this.#pump()
  }

  requeue(channel: Channel, tag: number): void {
    const queued = channel.unacked.get(tag)
    if (!channel.isOpen || queued === undefined) return
    channel.unacked.delete(tag)
    this.#putBack(queued)
    this.#pump()
  }

  /** A copy that replaces its message. `delayMs`: the time after which it is back in the queue. */
  copy({ message }: MessageCopy, type: 'ok' | 'info', how: CopyTo): void {
    const { to, parked, reason, delayMs } = how
    this.stage.record('broker', { f: 'copy', type, place: message.position, to, parked, reason })
    if (to === 'retry') this.#enqueue('broker', message, { delayMs, copyOf: message.position })
  }

  disturb(): void {
    const open = [...this.#channels]
    if (open.length > 0) this.close(this.stage.chance.pick(open))
  }

  cut(process: SimProcess): void {
    for (const channel of this.#open(({ consumer }) => consumer.process === process)) this.close(channel)
  }

  /**
   * Delivers once more to the same consumer, and to another one, which no broker should do but a library must survive.
   */
  redeliver(): void {
    for (const { consumer } of this.#channels) consumer.redeliver()
    const [from, to] = this.stage.chance.happens(0.5) ? [...this.#channels] : [...this.#channels].toReversed()
    const [held] = from?.unacked.values() ?? []
    if (to !== undefined && held !== undefined) this.#give(held, to)
  }

  heal(): void {
    for (const channel of this.#open(({ consumer }) => consumer.process.isDead)) this.close(channel)
  }

  unsettled(): readonly Place[] {
    return [...this.#queued.values()].map(({ message }) => message.position)
  }

  #open(which: (channel: Channel) => boolean): Channel[] {
    return [...this.#channels].filter(which)
  }

  #enqueue(
    proc: string,
    message: Pick<Message, 'key' | 'value' | 'headers' | 'timestamp'>,
    { delayMs = 0, copyOf }: Waiting = {},
  ): void {
    const number = ++this.#published
    const place: Place = `${this.group}:queue#${number}`
    const { key, value, headers, timestamp } = message
    const origin = 'queue'
    const queued = {
      number,
      message: { system: 'memory', destination: origin, origin, position: place, key, value, headers, timestamp },
    } as const
    const id = headers['id']
    this.#queued.set(number, queued)
    this.stage.record(proc, {
      f: 'send',
      type: 'ok',
      place,
      ...(copyOf === undefined ? {} : { copyOf }),
      subject: typeof id === 'string' ? subjectOf(this.group, id) : undefined,
      print: Buffer.from(value ?? '').toString(),
    })
    this.stage.timeline.after(delayMs, () => {
      this.#ready.push(queued)
      this.#pump()
    })
  }

  #pump(): void {
    for (;;) {
      const channel = this.#freest()
      const queued = channel && this.#ready.shift()
      if (channel === undefined || queued === undefined) return
      this.#give(queued, channel)
    }
  }

  #give(queued: Queued, channel: Channel): void {
    const tag = ++channel.lastTag
    channel.unacked.set(tag, queued)
    const { consumer } = channel
    consumer.process.after(this.stage.faults.latencyMs(), () => consumer.arrive(channel, tag, queued))
  }

  /** Returns it to its place, unless it was acked or another consumer has it. */
  #putBack(queued: Queued): void {
    const isHeld = [...this.#channels].some(({ unacked }) => [...unacked.values()].includes(queued))
    if (isHeld || this.#ready.includes(queued) || !this.#queued.has(queued.number)) return
    this.#ready.push(queued)
    this.#ready.sort((one, other) => one.number - other.number)
  }

  #freest(): Channel | undefined {
    let freest: Channel | undefined
    for (const channel of this.#channels) {
      const { size } = channel.unacked
      if (size < this.#prefetch && (freest === undefined || size < freest.unacked.size)) freest = channel
    }
    return freest
  }
}

type QueueSettings = Pick<Plan, 'prefetch' | 'hasRetryPlaces' | 'silenceMs'>

interface Waiting {
  readonly delayMs?: number
  readonly copyOf?: Place
}
