import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectByTls } from 'node:tls'

/** Where a connection was tried, and as whom. */
export interface Target {
  readonly isTls: boolean
  readonly host: string
  readonly port: number
  readonly vhost: string
  readonly user: string
  readonly password: string
  readonly frameMax: number | undefined
}

/** What listens there, and what it says. */
export type Answer =
  /** It speaks TLS, and was spoken to without. */
  | { readonly kind: 'tls' }
  | { readonly kind: 'http' }
  /** It refuses the virtual host. */
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  | { readonly kind: 'opened' }
  | { readonly kind: 'nothing' }

const WITHIN_MS = 5_000
const MOST_BYTES = 64 * 1024

/**
 * Repeats the handshake of a connection that failed, to find out why: amqplib throws the broker's reason away. Only for
 * a connection that has just failed. Never rejects.
 */
export function askWhy(target: Target): Promise<Answer> {
  const { host, port, isTls } = target
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    const socket: Socket = isTls ? connectByTls({ host, port, servername: host }) : connectPlain({ host, port })
    const end = (answer: Answer): void => {
      resolve(answer)
      socket.destroy()
    }
    socket.setTimeout(WITHIN_MS, () => end({ kind: 'nothing' }))
    socket.on('error', () => end({ kind: 'nothing' }))
    socket.on('close', () => end({ kind: 'nothing' }))
    socket.on(isTls ? 'secureConnect' : 'connect', () => socket.write(Buffer.from('AMQP\0\0\x09\x01', 'latin1')))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length > MOST_BYTES) return end({ kind: 'nothing' })
      const stranger = strangerIn(received)
      if (stranger !== undefined) return end(stranger)
      for (let method = methodIn(received); method !== undefined; method = methodIn(received)) {
        received = received.subarray(method.length)
        const answer = answerTo(method, target, (frame) => socket.write(frame))
        if (answer !== undefined) return end(answer)
      }
    })
  })
}

/** The first byte of a TLS alert, which a TLS server sends to those who do not speak it. */
const TLS_ALERT = 0x15

function strangerIn(received: Buffer): Answer | undefined {
  if (received[0] === TLS_ALERT && received[1] === 3) return { kind: 'tls' }
  return received.subarray(0, 5).toString('latin1') === 'HTTP/' ? { kind: 'http' } : undefined
}

interface Method {
  /** Bytes of the whole frame. */
  readonly length: number
  /** Class 10, `connection`. */
  readonly id: number
  readonly fields: Buffer
}

const HEAD = 7
const METHOD_FRAME = 1
const FRAME_END = 0xce
const CONNECTION = 10
const START = 10
const TUNE = 30
const OPEN_OK = 41
const CLOSE = 50

function methodIn(received: Buffer): Method | undefined {
  if (received.length < HEAD) return undefined
  const length = HEAD + received.readUInt32BE(3) + 1
  if (received.length < length) return undefined
  return { length, id: received.readUInt16BE(HEAD + 2), fields: received.subarray(HEAD + 4, length - 1) }
}

function answerTo({ id, fields }: Method, target: Target, send: (frame: Buffer) => void): Answer | undefined {
  const { user, password, vhost } = target
  switch (id) {
    case START:
      // No properties of a client, mechanism, answer, locale.
      send(frameOf(11, [uint(4, 0), short('PLAIN'), long(`\0${user}\0${password}`), short('en_US')]))
      return undefined
    case TUNE:
      send(frameOf(31, [fields.subarray(0, 6), uint(2, 0)]))
      send(frameOf(40, [short(vhost), short(''), uint(1, 0)]))
      return undefined
    case OPEN_OK:
      return { kind: 'opened' }
    case CLOSE: {
      const text = fields.subarray(3, 3 + (fields[2] ?? 0)).toString()
      return { kind: 'refused', code: fields.readUInt16BE(0), text }
    }
    default:
      return undefined
  }
}

function frameOf(id: number, fields: readonly Buffer[]): Buffer {
  const payload = Buffer.concat([uint(2, CONNECTION), uint(2, id), ...fields])
  return Buffer.concat([uint(1, METHOD_FRAME), uint(2, 0), uint(4, payload.length), payload, uint(1, FRAME_END)])
}

function uint(bytes: number, value: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntBE(value, 0, bytes)
  return buffer
}

function short(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([uint(1, bytes.length), bytes])
}

function long(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([uint(4, bytes.length), bytes])
}
