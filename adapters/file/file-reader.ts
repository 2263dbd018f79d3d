import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import {
  ConfigError,
  ReplayError,
  describeError,
  isConsumeOnceError,
  type AskedRange,
  type ReadOptions,
  type ReplayItem,
  type ReplayRange,
  type ReplayReader,
} from '../../src/internal.ts'
import { parseEnvelope } from './envelope.ts'
import { isBlank, linesOf, type Line } from './lines.ts'
import { deadLetterFacts, messageOf } from './message.ts'

const CHUNK_BYTES = 1024 * 1024
const MOST_IN_BATCH = 1_000
/** So that a batch of long lines does not fill the memory. */
const BATCH_BYTES = 16 * 1024 * 1024
/** What JSON writers make of bytes that are not UTF-8. */
const DAMAGE = ['\uFFFD', String.raw`\ufffd`, String.raw`\uFFFD`]

interface File {
  readonly path: string
  /** For people. */
  readonly name: string
  readonly warnings?: readonly string[]
  readonly onClose?: () => Promise<void>
}

/** Reads a file of envelopes line by line. A position is the number of a line, from 1. Blank lines have no message. */
export class FileReader implements ReplayReader {
  readonly takes = false
  readonly #path: string
  readonly #name: string
  readonly #warnings: readonly string[]
  readonly #onClose: () => Promise<void>

  constructor({ path, name, warnings = [], onClose = async () => {} }: File) {
    this.#path = path
    this.#name = name
    this.#warnings = warnings
    this.#onClose = onClose
  }

  /** A file has no order of time: `since` and `until` do not narrow it. */
  async range({ from = 1n, to, max }: AskedRange): Promise<ReplayRange> {
    const end = { line: Number(to ?? Number.POSITIVE_INFINITY), messages: max ?? Number.POSITIVE_INFINITY }
    let next = Number(from)
    let messages = 0
    let damaged = 0
    for await (const { number, bytes } of this.#lines()) {
      if (number >= end.line || messages >= end.messages) break
      if (number < from) continue
      next = number + 1
      if (isBlank(bytes)) continue
      messages++
      if (isDamaged(bytes)) damaged++
    }
    return {
      parts: [{ part: this.#name, from: String(from), to: String(next) }],
      warnings: [...this.#warnings, ...(damaged === 0 ? [] : [lossy(damaged, messages, this.#name)])],
    }
  }

  async *read(
    { parts }: ReplayRange,
    { from, signal, ahead = MOST_IN_BATCH }: ReadOptions,
  ): AsyncIterable<ReplayItem[]> {
    const [part] = parts
    if (part === undefined) return
    const first = Number(from?.[part.part] ?? part.from)
    const end = Number(part.to)
    const most = Math.max(1, Math.min(ahead, MOST_IN_BATCH))
    let batch: ReplayItem[] = []
    let batchBytes = 0
    let next = 1
    for await (const line of this.#lines()) {
      if (line.number >= end || signal.aborted) break
      next = line.number + 1
      if (line.number < first || isBlank(line.bytes)) continue
      batch.push(this.#itemOf(line))
      batchBytes += line.bytes.length
      if (batch.length < most && batchBytes < BATCH_BYTES) continue
      yield batch
      batch = []
      batchBytes = 0
    }
    if (batch.length > 0) yield batch
    if (next < end && !signal.aborted) throw this.#lost(next, end)
  }

  close(): Promise<void> {
    return this.#onClose()
  }

  async *#lines(): AsyncIterable<Line> {
    try {
      yield* linesOf(createReadStream(this.#path, { highWaterMark: CHUNK_BYTES }))
    } catch (cause) {
      if (isConsumeOnceError(cause)) throw cause
      throw new ConfigError([`${this.#name} cannot be read: ${describeError(cause)}`], 'CONFIG_INVALID', { cause })
    }
  }

  #itemOf({ number, bytes }: Line): ReplayItem {
    try {
      const envelope = parseEnvelope(bytes)
      const message = messageOf(envelope, number)
      return {
        part: this.#name,
        position: String(number),
        message,
        timestamp: message.timestamp,
        timestampOf: envelope.isBrokersTime ? 'broker' : 'producer',
        deadLetter: deadLetterFacts(message),
      }
    } catch (cause) {
      throw new ConfigError([
        `${this.#name}, line ${number}: ${describeError(cause)}. Expected one JSON object a line, as \`kcat -J\` prints it`,
      ])
    }
  }

  #lost(next: number, end: number): ReplayError {
    return new ReplayError(
      'REPLAY_RANGE_LOST',
      `${this.#name} has ${next - 1} lines, and had ${end - 1} when its range was taken: it was changed. Make a new plan`,
    )
  }
}

function lossy(damaged: number, messages: number, name: string): string {
  return `U+FFFD in the payload of ${damaged} of ${messages} messages of ${name}: it usually stands for bytes that are not UTF-8 and were lost when the file was written. Then the payload differs from the original, and the verdict is conflict. Write payload_base64 instead.`
}

function isDamaged(bytes: Buffer): boolean {
  if (isUtf8(bytes) && !DAMAGE.some((text) => bytes.includes(text))) return false
  try {
    return parseEnvelope(bytes).isDamaged
  } catch {
    // Reported with its line when it is read.
    return false
  }
}
