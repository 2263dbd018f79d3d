import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { HandlerContext, Message } from '../../src/index.ts'
import { ID_HEADER, payloadHash, type InputMessage } from './input.ts'

/** One effect, as a line of `--effects`. */
export interface Effect {
  readonly id: string
  /** The idempotency key that a provider would get. */
  readonly key: string
  readonly payload_sha256: string
  readonly at: string
}

/** One line of `dead-letters.ndjson`. */
export interface DeadLetterRow {
  readonly source: string
  readonly id: string | null
  readonly reason: string
  readonly payload_sha256: string
}

/** The effect of a message. The handler uses raw bytes and never parses them. */
export function effectOf({ message, idempotencyKey: key }: HandlerContext<unknown, unknown>): Effect {
  return { id: idOf(message), key, payload_sha256: payloadHash(message), at: new Date().toISOString() }
}

/** The message's ID as text, in whatever form its client delivered the header; empty if there is none. */
export function idOf({ headers }: Message): string {
  const value = Object.hasOwn(headers, ID_HEADER) ? headers[ID_HEADER] : undefined
  const first: unknown = Array.isArray(value) ? value[0] : value
  return first instanceof Uint8Array ? Buffer.from(first).toString('utf8') : typeof first === 'string' ? first : ''
}

export interface Judgement {
  /** Pairs of usable ID and payload with neither an effect nor a dead letter. */
  readonly lost: number
  /** IDs with more than one effect. */
  readonly doubleEffects: number
}

/** Compares effects and dead letters with the input, independently of all counters in the pipeline. */
export function judge(
  messages: readonly InputMessage[],
  effects: readonly Effect[],
  deadLetters: readonly DeadLetterRow[],
): Judgement {
  // The hash has a fixed length, so no two pairs have the same text.
  const pairs = [...effects, ...deadLetters].map(({ id, payload_sha256 }) => `${payload_sha256}${id}`)
  const accounted = new Set(pairs)
  const effectsOf = new Map<string, number>()
  for (const { id } of effects) effectsOf.set(id, (effectsOf.get(id) ?? 0) + 1)
  const usable = messages.filter(({ id }) => id !== undefined)
  const expected = new Set(usable.map(({ id, payloadSha256 }) => `${payloadSha256}${id}`))
  const ids = new Set(usable.map(({ id }) => id ?? ''))
  return {
    lost: [...expected].filter((pair) => !accounted.has(pair)).length,
    doubleEffects: [...ids].filter((id) => (effectsOf.get(id) ?? 0) > 1).length,
  }
}

export function readNdjson<Row>(path: string): Row[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}

/** One write call, so that a killed process leaves a whole line or none. */
export function appendNdjson(path: string, row: object): void {
  appendFileSync(path, `${JSON.stringify(row)}\n`)
}

export function ndjson(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}
