import type { ProducedHeaders } from './headers.ts'

/** What of a message counts for the size of a record batch. */
export interface Sized {
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: ProducedHeaders
}

/** A broker limits the size of what is sent to a partition at once, 1 MB by default. */
const MOST_BYTES = 256 * 1024

/** In their order. A message that is larger than a chunk may be is alone in one. */
export function* chunksOf<T>(items: readonly T[], partsOf: (item: T) => Sized): Generator<readonly T[], undefined> {
  let [chunk, bytes]: [T[], number] = [[], 0]
  for (const item of items) {
    const size = sizeOf(partsOf(item))
    if (chunk.length > 0 && bytes + size > MOST_BYTES) {
      yield chunk
      ;[chunk, bytes] = [[], 0]
    }
    chunk.push(item)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}

function sizeOf({ key, value, headers }: Sized): number {
  const ofHeaders = Object.entries(headers).flatMap(([name, header]) => [name, header].flat())
  const texts = ofHeaders.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return (key?.length ?? 0) + (value?.length ?? 0) + texts
}
