import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, type InputType, type ZlibOptions } from 'node:zlib'
import type { Reply } from './reply.ts'

/** The largest body that is made of a kept one. */
const MOST = 64 * 1024 * 1024

type Decode = (body: InputType, options: ZlibOptions) => Promise<Buffer>

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/**
 * A kept response as every client can read it: the first client asked for gzip, and the one that repeats the request may
 * not. Without a body if its content coding is none of these, or wrong.
 */
export async function uncompressed(reply: Reply): Promise<Reply> {
  const { status, headers, body } = reply
  const codings = headers
    .filter(([name]) => name === 'content-encoding')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((coding) => coding.trim())
  if (body === undefined || codings.length === 0) return reply
  try {
    return { status, headers: headers.flatMap(withoutCoding), body: await decoded(body, codings) }
  } catch {
    return { status, headers, body: undefined }
  }
}

/** @throws if a coding is unknown, or the body is not in it */
async function decoded(body: Uint8Array, codings: readonly string[]): Promise<Uint8Array> {
  let plain = body
  for (const coding of codings.toReversed()) {
    const decode = DECODERS[coding]
    if (coding === 'identity' || plain.length === 0) continue
    if (decode === undefined) throw new TypeError(`content-encoding: expected one of compression, got ${coding}`)
    plain = await decode(plain, { maxOutputLength: MOST })
  }
  return plain
}

/** A strong entity tag belongs to the compressed bytes. */
function withoutCoding([name, value]: Reply['headers'][number]): Reply['headers'] {
  if (name === 'content-encoding') return []
  return [[name, name === 'etag' && value.startsWith('"') ? `W/${value}` : value]]
}
