import { FrameReader, type Spoken } from '../../kit/wire/amqp-frames.ts'
import type { Listener, Seen } from './listener.ts'
import type { Sends } from './sends.ts'

const GREETING_BYTES = 8

/** `via` names the connection. Each channel on it is a generation of its own. */
export function rabbitListener(via: string, sends: Sends): Listener {
  const channels = new Map<number, Channel>()
  let hasSettledTarget = false
  const [client, server] = [new FrameReader(GREETING_BYTES), new FrameReader(0)]
  const channelOf = (number: number, spoken: Spoken): Channel => {
    let channel = channels.get(number)
    if (channel === undefined || spoken.kind === 'channel-open') {
      channel = new Channel(`${via}/${number}.${channels.size}`, sends)
      channels.set(number, channel)
    }
    return channel
  }
  return {
    fromClient: (bytes) => {
      const seen = client.read(bytes).flatMap(({ channel, spoken }) => channelOf(channel, spoken).fromClient(spoken))
      hasSettledTarget ||= seen.some(({ moment, isTarget }) => moment === 'settle sent' && isTarget)
      return seen
    },
    fromServer: (bytes) => {
      // The broker does not answer acks. Its next bytes, a heartbeat at the latest, come after it has read the ack.
      const settled: readonly Seen[] = hasSettledTarget ? [{ moment: 'settled', isTarget: true }] : []
      hasSettledTarget = false
      return [
        ...settled,
        ...server.read(bytes).flatMap(({ channel, spoken }) => channelOf(channel, spoken).fromServer(spoken)),
      ]
    },
  }
}

class Channel {
  readonly #via: string
  readonly #sends: Sends
  /** Unsettled sends by delivery tag, and unconfirmed copies by publish number. */
  readonly #delivered = new Map<number, number>()
  readonly #copies = new Map<number, number>()
  #delivering: number | undefined
  #publishing = false
  #published = 0

  constructor(via: string, sends: Sends) {
    this.#via = via
    this.#sends = sends
  }

  fromClient(spoken: Spoken): readonly Seen[] {
    switch (spoken.kind) {
      case 'publish':
        this.#publishing = true
        this.#published++
        return []
      case 'message': {
        const send = this.#sends.numberOf(spoken.messageId)
        const isCopy = this.#publishing && send !== undefined
        this.#publishing = false
        if (!isCopy) return []
        this.#copies.set(this.#published, send)
        return [{ moment: 'copy sent', isTarget: send === 0 }]
      }
      case 'ack':
        return take(this.#delivered, spoken).map((send) => this.#settle(send))
      case 'nack':
        take(this.#delivered, spoken)
        return []
      case 'channel-open':
      case 'channel-closed':
      case 'consume':
      case 'closing':
      case 'deliver':
        return []
    }
  }

  fromServer(spoken: Spoken): readonly Seen[] {
    switch (spoken.kind) {
      case 'deliver':
        this.#delivering = spoken.tag
        return []
      case 'message': {
        const [send, tag] = [this.#sends.numberOf(spoken.messageId), this.#delivering]
        this.#delivering = undefined
        if (send === undefined || tag === undefined) return []
        this.#delivered.set(tag, send)
        const event = { f: 'deliver', place: this.#sends.place(send), via: this.#via } as const
        return [{ moment: 'delivered', isTarget: send === 0, event }]
      }
      case 'ack':
        return take(this.#copies, spoken).map((send) => copied(send, this.#sends))
      case 'nack':
      case 'channel-open':
      case 'channel-closed':
      case 'consume':
      case 'closing':
      case 'publish':
        return []
    }
  }

  #settle(send: number): Seen {
    const event = { f: 'ack', place: this.#sends.place(send), via: this.#via, deliveredVia: this.#via } as const
    return { moment: 'settle sent', isTarget: send === 0, event }
  }
}

/** `gather` adds the destination and the reason, which it reads from the copy. */
export function copied(send: number, sends: Sends): Seen {
  const place = sends.place(send)
  const event = { f: 'copy', type: 'ok', place, to: 'dead-letter', parked: false, reason: '' } as const
  return { moment: 'copied', isTarget: send === 0, event }
}

function take(from: Map<number, number>, { tag, multiple }: { tag: number; multiple: boolean }): readonly number[] {
  const tags = multiple ? [...from.keys()].filter((one) => one <= tag) : [tag]
  return tags.flatMap((one) => {
    const send = from.get(one)
    from.delete(one)
    return send === undefined ? [] : [send]
  })
}
