import { appendFileSync, closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { HandlerContext, Message } from '../../src/index.ts'
import { ID_HEADER, sha256 } from './envelope.ts'

/** One effect, as a line of `--effects`. */
export interface Effect {
  readonly id: string
  /** The idempotency key that a provider would get. */
  readonly key: string
  readonly payload_sha256: string
  readonly at: string
}

/** The effect of a message. The handler uses raw bytes and never parses them. */
export function effectOf({
  message,
  idempotencyKey,
}: Pick<HandlerContext<unknown>, 'message' | 'idempotencyKey'>): Effect {
  return {
    id: idOf(message),
    key: idempotencyKey,
    payload_sha256: sha256(message.value ?? new Uint8Array(0)),
    at: new Date().toISOString(),
  }
}

/** The message's ID as text, in whatever form its client delivered the header; empty if there is none. */
export function idOf({ headers }: Message): string {
  const value = Object.hasOwn(headers, ID_HEADER) ? headers[ID_HEADER] : undefined
  const first: unknown = Array.isArray(value) ? value[0] : value
  return first instanceof Uint8Array ? Buffer.from(first).toString('utf8') : typeof first === 'string' ? first : ''
}

/** Stands for an SMS provider: one line for each request. It deduplicates nothing. */
export class ProviderFile {
  readonly #path: string
  readonly #file: number

  constructor(path: string) {
    this.#path = path
    this.#file = openSync(path, 'a')
  }

  /** One write call, so that a killed process leaves a whole line or none. */
  send(effect: Effect): void {
    writeSync(this.#file, `${JSON.stringify(effect)}\n`)
  }

  effects(): Effect[] {
    return readNdjson<Effect>(this.#path)
  }

  close(): void {
    closeSync(this.#file)
  }
}

export function readNdjson<Row>(path: string): Row[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}

export function appendNdjson(path: string, row: object): void {
  appendFileSync(path, `${JSON.stringify(row)}\n`)
}
