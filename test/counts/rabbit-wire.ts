import type { Listener } from '../kit/fault-proxy.ts'
import type { Counted } from './expected.ts'
import { Frames } from './frames.ts'

/** What a client says first, which is no frame. */
const GREETING_BYTES = 8
/** Kind, channel, length; and one byte at the end. */
const AROUND = 8

const METHOD = 1
/** Header and body of a message that is published. */
const CONTENT: ReadonlySet<number> = new Set([2, 3])

/** Methods of `basic` that go with messages, and our names for them. Questions about queues depend on time, and are not counted. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [40, 'publishes'],
  [80, 'acks'],
  [90, 'rejects'],
  [120, 'nacks'],
])
const BASIC = 60

/** Counts the frames that clients send with messages. */
export class RabbitWire {
  readonly #counts: Record<string, number> = {}

  get counts(): Counted {
    return { ...this.#counts }
  }

  connection(): Listener {
    let hasBegun = false
    const sent = new Frames(
      (bytes) => {
        if (!hasBegun) return GREETING_BYTES
        return bytes.length < AROUND - 1 ? undefined : AROUND + bytes.readUInt32BE(3)
      },
      (frame) => {
        if (hasBegun) this.#count(frame)
        hasBegun = true
      },
    )
    return { fromClient: (bytes) => sent.read(bytes), fromServer: () => {}, closed: () => {} }
  }

  #count(frame: Buffer): void {
    const kind = frame[0] ?? 0
    const name = kind === METHOD && frame.readUInt16BE(7) === BASIC ? NAMES.get(frame.readUInt16BE(9)) : undefined
    if (name !== undefined) this.#add(name, 1)
    if (name !== undefined || CONTENT.has(kind)) this.#add('bytes sent', frame.length)
  }

  #add(name: string, count: number): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + count
  }
}
