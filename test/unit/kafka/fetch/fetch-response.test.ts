import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { readFetchResponse } from '../../../../adapters/kafkajs/fetch/fetch-response.ts'
import { NotReadHere, type FetchedMessage } from '../../../../adapters/kafka/fetch/record-batch.ts'
import { batchBytes, marker, messageSetBytes, responseBytes, type BatchSpec, type RecordSpec } from './fetch-bytes.ts'

type Decode = (bytes: Buffer) => Promise<{ responses: { partitions: { messages: FetchedMessage[] }[] }[] }>

const require = createRequire(import.meta.url)
const VERSIONS = [4, 5, 6, 7, 8, 9, 10, 11] as const

/** What kafkajs 2.2 makes of it. */
function decodeByKafkajs(version: number): Decode {
  return (require(`kafkajs/src/protocol/requests/fetch/v${version}/response.js`) as { decode: Decode }).decode
}

const record = (offsetDelta: number, more: Partial<RecordSpec> = {}): RecordSpec => ({
  offsetDelta,
  key: Buffer.from(`k${offsetDelta}`),
  value: Buffer.from(`v${offsetDelta}`),
  ...more,
})

async function messagesOf(
  batches: readonly BatchSpec[],
  {
    aborted = [],
    from = 0n,
  }: { aborted?: readonly { producerId: bigint; firstOffset: bigint }[] | null; from?: bigint } = {},
): Promise<readonly FetchedMessage[]> {
  const records = Buffer.concat(batches.map(batchBytes))
  const bytes = responseBytes(11, { t: [{ partition: 0, aborted, records }] })
  const { responses } = await readFetchResponse(bytes, 11, () => from)
  return responses[0]?.partitions[0]?.messages ?? []
}

const readRaw = (given: Buffer): Promise<unknown> =>
  readFetchResponse(responseBytes(4, { t: [{ partition: 0, records: given }] }), 4, () => 0n)

const headersOf = async (headers: RecordSpec['headers'] & {}): Promise<Record<string, unknown>> => {
  const [message] = await messagesOf([{ firstOffset: 0n, records: [record(0, { headers })] }])
  return message?.headers ?? {}
}

const shown = (messages: readonly FetchedMessage[]): readonly string[] =>
  messages.map(({ offset, isControlRecord }) => (isControlRecord ? `(${offset})` : offset))

describe('a fetch response', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)))
  /** kafkajs takes names of inherited properties for values that were there before (K20). */
  const name = fc.string({ maxLength: 12 }).filter((text) => !(text in {}))
  const recordSpecs = fc
    .array(
      fc.record({
        gap: fc.nat(3),
        timestampDelta: fc.bigInt({ min: -(2n ** 40n), max: 2n ** 40n }),
        key: bytes,
        value: bytes,
        headers: fc.array(fc.tuple(name, bytes), { maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 6 },
    )
    .map((list) => {
      let offsetDelta = -1
      return list.map(({ gap, ...rest }) => ({ ...rest, offsetDelta: (offsetDelta += 1 + gap) }))
    })
  const batch = fc.record({
    records: recordSpecs,
    isGzipped: fc.boolean(),
    isAppendTimed: fc.boolean(),
    isTransactional: fc.boolean(),
    producerId: fc.bigInt({ min: -1n, max: 2n ** 40n }),
    firstTimestamp: fc.bigInt({ min: -1n, max: 2n ** 42n }),
    maxTimestamp: fc.bigInt({ min: -1n, max: 2n ** 42n }),
  })

  it.each(VERSIONS)('of version %s is read as kafkajs reads it, where kafkajs is right', async (version) => {
    const law = fc.asyncProperty(
      fc.array(batch, { maxLength: 4 }),
      fc.bigInt({ min: 0n, max: 2n ** 50n }),
      async (batches, from) => {
        let firstOffset = from
        const partition = batches.map((spec) => {
          const encoded = batchBytes({ ...spec, firstOffset })
          firstOffset += BigInt((spec.records.at(-1)?.offsetDelta ?? 0) + 1)
          return encoded
        })
        const topics = {
          a: [
            { partition: 0, records: Buffer.concat(partition) },
            { partition: 7, errorCode: 6, aborted: null, records: Buffer.alloc(0) },
          ],
          b: [{ partition: 1, records: Buffer.concat(partition).subarray(0, -1) }],
        }
        const given = responseBytes(version, topics)
        const read = await readFetchResponse(given, version, () => from)
        expect(read).toEqual(await decodeByKafkajs(version)(given))
      },
    )
    await fc.assert(law, { numRuns: 15 })
  })

  it('with numbers beyond those that JavaScript counts exactly is read exactly', async () => {
    const [firstOffset, firstTimestamp] = [2n ** 60n, 2n ** 62n]
    const deltas = [0n, 2n ** 40n, -(2n ** 62n) - 5n]
    const timed = deltas.map((timestampDelta, offsetDelta) => record(offsetDelta, { timestampDelta }))
    const messages = await messagesOf([{ firstOffset, firstTimestamp, records: timed }])
    expect(messages.map(({ offset, timestamp }) => [offset, timestamp])).toEqual(
      deltas.map((delta, index) => [String(firstOffset + BigInt(index)), String(firstTimestamp + delta)]),
    )
  })

  it('of before Kafka 0.11, or of a codec that nobody has registered, is left to kafkajs', async () => {
    await expect(readRaw(messageSetBytes(0n, Buffer.from('k'), Buffer.from('v')))).rejects.toThrow(NotReadHere)
    const lz4 = batchBytes({ firstOffset: 0n, records: [record(0)] })
    lz4.writeInt16BE(3, 21)
    await expect(readRaw(lz4)).rejects.toThrow(NotReadHere)
  })

  it('that cannot be read says where, in an error that does not end kafkajs', async () => {
    const broken = batchBytes({ firstOffset: 5n, records: [record(0), record(1)] })
    broken.writeUInt8(0xfe, 61) // The length of the first record.
    const read = readFetchResponse(responseBytes(11, { sms: [{ partition: 3, records: broken }] }), 11, () => 5n)
    const refused = {
      name: 'Error',
      message: expect.stringContaining('sms/3: the records from offset 5 on') as unknown,
    }
    await expect(read).rejects.toMatchObject(refused)
  })

  it('with more records than a call may have arguments is read: kafkajs throws a RangeError', async () => {
    const encoded = batchBytes({ firstOffset: 0n, records: [{ offsetDelta: 0 }], times: 130_000, isGzipped: true })
    const given = responseBytes(11, { t: [{ partition: 0, records: encoded }] })
    await expect(decodeByKafkajs(11)(given)).rejects.toThrow('Maximum call stack size exceeded')
    const { responses } = await readFetchResponse(given, 11, () => 0n)
    expect(responses[0]?.partitions[0]?.messages).toHaveLength(130_000)
  })

  it('is read in more than one turn of the event loop if it is large', async () => {
    let turns = 0
    const count = (): void => void (turns++, (counting = setImmediate(count)))
    let counting = setImmediate(count)
    await messagesOf([{ firstOffset: 0n, records: [{ offsetDelta: 0 }], times: 10_000 }])
    clearImmediate(counting)
    expect(turns).toBeGreaterThan(2)
  })
})

describe('headers', () => {
  const a = Buffer.from('a')

  it('named like inherited properties have their own values (K20)', async () => {
    const headers = await headersOf([
      ['__proto__', a],
      ['constructor', null],
      ['toString', a],
      ['toString', null],
    ])
    expect(Object.entries(headers)).toEqual([
      ['__proto__', a],
      ['constructor', null],
      ['toString', [a, null]],
    ])
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
  })

  it.each(['each another name', 'all one name'])('are read in linear time: %s (K23)', async (kind) => {
    const timeOf = async (count: number, messages: number): Promise<number> => {
      const headers = Array.from(
        { length: count },
        (_, index) => [kind === 'all one name' ? 'h' : `h${index}`, a] as const,
      )
      const records = batchBytes({ firstOffset: 0n, records: [record(0, { headers })], times: messages })
      const given = responseBytes(11, { t: [{ partition: 0, records }] })
      let best = Infinity
      for (let times = 0; times < 5; times++) {
        const { user } = process.cpuUsage()
        await readFetchResponse(given, 11, () => 0n)
        best = Math.min(best, process.cpuUsage().user - user)
      }
      return best
    }
    // As many headers in all: a quadratic reader takes ten times as long for the second.
    const small = await timeOf(600, 20)
    expect(await timeOf(6_000, 2)).toBeLessThan(small * 4)
  })
})

describe('a batch of an aborted transaction', () => {
  const aborted = [{ producerId: 7n, firstOffset: 3n }]
  const ofSeven = { producerId: 7n, isTransactional: true }
  const log: readonly BatchSpec[] = [
    { firstOffset: 0n, records: [record(0), record(1), record(2)] },
    { firstOffset: 3n, records: [record(0), record(1), record(2)], ...ofSeven },
    { firstOffset: 6n, records: [record(0, { key: marker('abort') })], producerId: 8n },
    { firstOffset: 7n, records: [record(0, { key: marker('abort') })], ...ofSeven, isGzipped: true },
    { firstOffset: 8n, records: [record(0, { key: marker('abort') })], ...ofSeven, isControl: true },
    { firstOffset: 9n, records: [record(0)], ...ofSeven },
  ]

  it('is passed over from its first to its last offset, and a message with the key of a marker is none', async () => {
    expect(shown(await messagesOf(log, { aborted }))).toEqual('0 1 2 (3) (5) 6 (7) (8) 9'.split(' '))
  })

  it('is passed over from the requested offset on, and shows the one before it to be compared', async () => {
    expect(shown(await messagesOf(log.slice(1, 2), { aborted, from: 4n }))).toEqual(['(3)', '(4)', '(5)'])
    expect(shown(await messagesOf(log.slice(1, 2), { aborted, from: 5n }))).toEqual(['(4)', '(5)'])
  })

  it('is handed over to those who read uncommitted messages, for whom the broker has no list', async () => {
    expect(shown(await messagesOf(log.slice(1), { aborted: null }))).toEqual(['3', '4', '5', '6', '7', '(8)', '9'])
  })
})

describe('a batch that compaction has emptied', () => {
  it('is passed over up to its last offset, in part or as a whole', async () => {
    const batches: readonly BatchSpec[] = [
      { firstOffset: 0n, records: [record(1)], lastOffsetDelta: 9 },
      { firstOffset: 10n, records: [], lastOffsetDelta: 4 },
      { firstOffset: 15n, records: [], producerId: 7n, isTransactional: true, isControl: true },
    ]
    expect(shown(await messagesOf(batches))).toEqual(['1', '(9)', '(14)', '(15)'])
  })
})
