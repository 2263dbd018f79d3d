export interface Line {
  /** Counts from 1. */
  readonly number: number
  readonly bytes: Buffer
}

export const MOST_LINE_BYTES: number = 16 * 1024 * 1024

const NEWLINE = 10
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** Splits a stream into lines, without their ends. Holds one chunk and one line. @throws TypeError for a longer line */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncIterable<Line> {
  let begun: Buffer[] = []
  let begunBytes = 0
  let number = 1
  for await (const chunk of stream) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      checkLength(begunBytes + end - from, number)
      const rest = chunk.subarray(from, end)
      yield lineOf(number, begun.length === 0 ? rest : Buffer.concat([...begun, rest]))
      number++
      from = end + 1
      begun = []
      begunBytes = 0
    }
    if (from === chunk.length) continue
    begun.push(chunk.subarray(from))
    begunBytes += chunk.length - from
    checkLength(begunBytes, number)
  }
  if (begunBytes > 0) yield lineOf(number, Buffer.concat(begun))
}

function lineOf(number: number, bytes: Buffer): Line {
  const isMarked = number === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)
  return { number, bytes: isMarked ? bytes.subarray(3) : bytes }
}

function checkLength(bytes: number, number: number): void {
  if (bytes > MOST_LINE_BYTES) throw new TypeError(`line ${number}: longer than ${MOST_LINE_BYTES} bytes`)
}

/** Spaces, tabs and carriage returns only. */
export function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 32 || byte === 9 || byte === 13)
}
