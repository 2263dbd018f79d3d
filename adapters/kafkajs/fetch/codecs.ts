import { promisify } from 'node:util'
import { unzip } from 'node:zlib'
import type { Decompress } from '../../kafka/fetch/record-batch.ts'

const GZIP = 1

const found = new Map<number, Decompress>([[GZIP, promisify(unzip)]])

/**
 * The decompression for a codec number of Kafka. Codecs other than gzip are those that the program has registered with
 * kafkajs. `undefined`: none is registered, or this copy of kafkajs cannot be loaded from here.
 */
export async function decompressionOf(codec: number): Promise<Decompress | undefined> {
  const known = found.get(codec) ?? (await registeredIn(codec))
  if (known !== undefined) found.set(codec, known)
  return known
}

async function registeredIn(codec: number): Promise<Decompress | undefined> {
  try {
    const { default: kafkajs } = await import('kafkajs')
    const codecs = kafkajs.CompressionCodecs as Readonly<Record<number, (() => { decompress: Decompress }) | undefined>>
    const registered = codecs[codec]?.()
    return registered && ((bytes) => registered.decompress(bytes))
  } catch {
    return undefined
  }
}
