import type { Listener } from '../../../test/kit/fault-proxy.ts'
import type { WireEvidence } from './evidence.ts'
import { FrameReader, type Frame, type Spoken } from '../../kit/wire/amqp-frames.ts'

const GREETING_BYTES = 8
/** A settle frame so short before the end of its channel may not have been heeded. */
const HEEDED_AFTER_MS = 1_000
/** The broker shuts down, or an administrator closes connections. */
const CONNECTION_FORCED = 320

/** Hears all that clients and broker say to each other, and keeps what a judge needs. */
export class WireTap implements WireEvidence {
  deliveries = 0
  redeliveries = 0
  ackFrames = 0
  readonly settledAt: Map<string, number> = new Map()
  readonly deadLetterConfirmedAt: Map<string, number> = new Map()
  readonly unconfirmedDeadLetters: Map<string, number> = new Map()
  readonly lostDeliveries: Map<string, number> = new Map()
  readonly refusals: string[] = []
  readonly #deadLetterQueue: string
  readonly #channels = new Set<TappedChannel>()

  constructor(deadLetterQueue: string) {
    this.#deadLetterQueue = deadLetterQueue
  }

  /** Deliveries that no client has settled yet. */
  get outstanding(): number {
    return [...this.#channels].reduce((sum, channel) => sum + channel.delivered.size, 0)
  }

  /** Channels with a consumer. */
  get consuming(): number {
    return [...this.#channels].filter(({ isConsuming }) => isConsuming).length
  }

  /** Listener for one connection. */
  readonly listen = (): Listener => {
    const channels = new Map<number, TappedChannel>()
    const [client, server] = [new FrameReader(GREETING_BYTES), new FrameReader(0)]
    const end = (number: number): void => {
      const channel = channels.get(number)
      channels.delete(number)
      if (channel !== undefined) this.#end(channel)
    }
    const hear = (frame: Frame, heard: (channel: TappedChannel, spoken: Spoken) => void): void => {
      const { channel: number, spoken } = frame
      if (spoken.kind === 'channel-open') {
        const channel = new TappedChannel()
        channels.set(number, channel)
        this.#channels.add(channel)
      }
      const channel = channels.get(number)
      if (channel !== undefined) heard(channel, spoken)
      if (spoken.kind === 'closing' || spoken.kind === 'channel-closed') end(number)
    }
    return {
      fromClient: (bytes) => {
        for (const frame of client.read(bytes)) hear(frame, (channel, spoken) => this.#fromClient(channel, spoken))
      },
      fromServer: (bytes) => {
        for (const frame of server.read(bytes)) {
          if (frame.spoken.kind === 'closing') this.#refused(frame.spoken)
          hear(frame, (channel, spoken) => this.#fromServer(channel, spoken))
        }
      },
      closed: () => {
        for (const number of channels.keys()) end(number)
      },
    }
  }

  #fromClient(channel: TappedChannel, spoken: Spoken): void {
    if (spoken.kind === 'consume') channel.isConsuming = true
    if (spoken.kind === 'ack') this.ackFrames++
    if (spoken.kind === 'ack' || spoken.kind === 'nack') {
      const ids = channel.take(channel.delivered, spoken)
      if (spoken.kind === 'nack' && spoken.requeue) return
      const at = Date.now()
      for (const id of ids) if (!this.settledAt.has(id)) this.settledAt.set(id, at)
      channel.settled(ids, at)
    } else if (spoken.kind === 'publish') {
      channel.publishing = { isDeadLetter: spoken.routingKey === this.#deadLetterQueue, number: ++channel.published }
    } else if (spoken.kind === 'message') {
      const { publishing } = channel
      if (publishing?.isDeadLetter === true) channel.deadLetters.set(publishing.number, String(spoken.messageId))
    }
  }

  #fromServer(channel: TappedChannel, spoken: Spoken): void {
    if (spoken.kind === 'deliver') {
      this.deliveries++
      if (spoken.redelivered) this.redeliveries++
      channel.delivering = spoken.tag
    } else if (spoken.kind === 'message') {
      // An answer that is not a delivery, such as a returned message, has no tag.
      if (channel.delivering !== undefined) channel.delivered.set(channel.delivering, String(spoken.messageId))
      channel.delivering = undefined
    } else if (spoken.kind === 'ack') {
      const at = Date.now()
      for (const id of channel.take(channel.deadLetters, spoken)) {
        if (!this.deadLetterConfirmedAt.has(id)) this.deadLetterConfirmedAt.set(id, at)
      }
    } else if (spoken.kind === 'nack') {
      channel.take(channel.deadLetters, spoken)
    }
  }

  #refused({ code, text }: Extract<Spoken, { kind: 'closing' }>): void {
    if (code !== CONNECTION_FORCED) this.refusals.push(`${code} ${text}`)
  }

  #end(channel: TappedChannel): void {
    this.#channels.delete(channel)
    for (const id of channel.deadLetters.values()) count(this.unconfirmedDeadLetters, id)
    for (const id of channel.delivered.values()) count(this.lostDeliveries, id)
    for (const id of channel.settledSince(Date.now() - HEEDED_AFTER_MS)) count(this.lostDeliveries, id)
  }
}

/** One life of a channel. */
class TappedChannel {
  /** IDs by tag. */
  readonly delivered: Map<number, string> = new Map()
  /** IDs of dead letters that wait for their confirm, by number. */
  readonly deadLetters: Map<number, string> = new Map()
  isConsuming = false
  published = 0
  publishing: { readonly isDeadLetter: boolean; readonly number: number } | undefined
  delivering: number | undefined
  #recent: { readonly ids: readonly string[]; readonly at: number }[] = []

  /** Takes what a settle of `tag` means. */
  take(from: Map<number, string>, { tag, multiple }: { readonly tag: number; readonly multiple: boolean }): string[] {
    const tags = multiple ? [...from.keys()].filter((one) => one <= tag) : [tag]
    return tags.flatMap((one) => {
      const id = from.get(one)
      from.delete(one)
      return id === undefined ? [] : [id]
    })
  }

  settled(ids: readonly string[], at: number): void {
    this.#recent = this.#recent.filter((settle) => settle.at >= at - HEEDED_AFTER_MS)
    this.#recent.push({ ids, at })
  }

  settledSince(since: number): readonly string[] {
    return this.#recent.filter(({ at }) => at >= since).flatMap(({ ids }) => ids)
  }
}

function count(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1)
}
