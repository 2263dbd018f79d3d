import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Message } from '../../src/index.ts'
import { parseEnvelope } from '../../adapters/file/index.ts'
import { isBlank, linesOf } from '../../adapters/file/lines.ts'
import { messageOf } from '../../adapters/file/message.ts'
import { exampleData } from './example-data.ts'
import { given } from './failures.ts'

export const ID_HEADER = 'message-id'

/** Longest usable ID, in bytes of UTF-8. */
const MAX_ID_BYTES = 512

/** One message of an input, ready to be produced. */
export interface InputMessage {
  /** The `message-id`, or `undefined` if it is not usable. */
  readonly id: string | undefined
  readonly payloadSha256: string
  readonly message: Message
}

export interface Input {
  readonly messages: readonly InputMessage[]
  /** The state keeps every input, under its hash. */
  readonly bytes: Buffer
  readonly sha256: string
}

/** Reads a whole file of envelopes: `-` is standard input, without a path the SMS example. @throws CommandError */
export async function readInput(path: string | undefined): Promise<Input> {
  const name = path ?? 'the SMS example'
  const bytes = await given(
    `cannot read the input ${name}`,
    () =>
      path === undefined ? Buffer.from(exampleData()) : buffer(path === '-' ? process.stdin : createReadStream(path)),
    'Give a file by --input FILE, or - for standard input. ',
  )
  return { messages: await messagesIn(bytes, name), bytes, sha256: sha256(bytes) }
}

/** @throws CommandError with the number of a line that cannot be read */
export async function messagesIn(bytes: Buffer, name: string): Promise<InputMessage[]> {
  const messages: InputMessage[] = []
  for await (const { number, bytes: line } of linesOf(Readable.from([bytes]))) {
    if (isBlank(line)) continue
    const expected = 'Expected one JSON object a line, as `kcat -J` prints it. '
    messages.push(await given(`${name}, line ${number}`, () => messageIn(line, number), expected))
  }
  return messages
}

function messageIn(line: Buffer, number: number): InputMessage {
  const envelope = parseEnvelope(line)
  // The demo has a topic or queue of its own.
  const message = messageOf({ ...envelope, topic: 'demo', queue: undefined }, number)
  return { id: usableId(envelope.headers), payloadSha256: payloadHash(message), message }
}

/** An independent implementation of the identity rule, to compare with the library's. */
function usableId(headers: ReturnType<typeof parseEnvelope>['headers']): string | undefined {
  const [first, ...others] = headers.filter(([name]) => name === ID_HEADER).map(([, value]) => value.toString())
  if (first === undefined || first.trim() === '' || Buffer.byteLength(first) > MAX_ID_BYTES) return undefined
  return others.every((other) => other === first) ? first : undefined
}

export function payloadHash({ value }: Message): string {
  return sha256(value ?? new Uint8Array(0))
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
