import { afterAll, describe, expect, it } from '@jest/globals'
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { MOST_LINE_BYTES } from '../../../adapters/file/lines.ts'
import { envelopeOf, fileReplay } from '../../../adapters/file/index.ts'
import type { ReadOptions, ReplayItem, ReplayReader } from '../../../src/internal.ts'

const folder = mkdtempSync(join(tmpdir(), 'consume-once-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0

type FileLine = string | object | Buffer

function fileOf(...lines: readonly FileLine[]): string {
  const path = join(folder, `${files++}.ndjson`)
  const bytes = lines.map((line) =>
    line instanceof Buffer ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)),
  )
  writeFileSync(path, Buffer.concat(bytes.flatMap((line) => [line, Buffer.from('\n')])))
  return path
}

async function readFrom(reader: ReplayReader, options: Partial<ReadOptions> = {}): Promise<ReplayItem[]> {
  const items: ReplayItem[] = []
  const range = await reader.range({})
  for await (const batch of reader.read(range, { signal: new AbortController().signal, ...options })) {
    items.push(...batch)
  }
  return items
}

async function read(...lines: readonly FileLine[]): Promise<ReplayItem[]> {
  return readFrom(await fileReplay().open(fileOf(...lines)))
}

async function readOne(line: object): Promise<ReplayItem> {
  const [item] = await read(line)
  if (item === undefined) throw new TypeError('no message')
  return item
}

function sms(n: number): object {
  return { topic: 'sms', payload: String(n) }
}

/** Copies of standard input. */
function spools(): number {
  return readdirSync(tmpdir()).filter((name) => /^consume-once-[^-]{6}$/.test(name)).length
}

const KAFKA = {
  topic: 'sms',
  partition: 3,
  offset: 1204,
  tstype: 'create',
  ts: 1_793_527_200_000,
  broker: 1,
  headers: ['message-id', 'a', 'tenant', 'x', 'tenant', 'y'],
  key: 'k',
  payload: '{"to":1}',
}
const ODD_BYTES = Buffer.from([0xff, 0x00, 0xfe])

describe('a line of kcat', () => {
  it('is the message that the consumer of its topic would get', async () => {
    const item = await readOne(KAFKA)
    expect(item).toMatchObject({ position: '1', timestamp: KAFKA.ts, timestampOf: 'producer', deadLetter: undefined })
    const { headers, ...message } = item.message
    expect(message).toEqual({
      system: 'kafka',
      destination: 'sms',
      origin: 'sms',
      position: '3@1204',
      key: Buffer.from('k'),
      value: Buffer.from('{"to":1}'),
      timestamp: KAFKA.ts,
    })
    expect({ ...headers }).toEqual({
      'message-id': Buffer.from('a'),
      tenant: [Buffer.from('x'), Buffer.from('y')],
    })
  })

  it('may have its headers as a map of arrays', async () => {
    const map = await readOne({ ...KAFKA, headers: { 'message-id': ['a'], tenant: ['x', 'y'] } })
    expect(map.message.headers).toEqual((await readOne(KAFKA)).message.headers)
  })

  it('is a tombstone without a payload, and has no key without one', async () => {
    const { message } = await readOne({ topic: 'sms', payload: null, key: null })
    expect(message).toMatchObject({ value: null, key: null, position: '-1@1', timestamp: undefined })
  })

  it('has the time of the broker if it says so', async () => {
    expect(await readOne({ ...KAFKA, tstype: 'logappend' })).toMatchObject({ timestampOf: 'broker' })
  })

  it('may have bytes in base64, which win over the text', async () => {
    const base64 = ODD_BYTES.toString('base64')
    const { message } = await readOne({ ...KAFKA, payload_base64: base64, key_base64: base64 })
    expect(message).toMatchObject({ value: ODD_BYTES, key: ODD_BYTES })
  })

  it('of a dead letter has the origin and the reason', async () => {
    const headers = [
      'consume-once-origin-topic',
      'sms',
      'consume-once-reason',
      'attempts-spent',
      'consume-once-parked',
      'true',
    ]
    const item = await readOne({ ...KAFKA, topic: 'sms.dead-letter', headers })
    expect(item.message).toMatchObject({ destination: 'sms.dead-letter', origin: 'sms' })
    expect(item.deadLetter).toMatchObject({ reason: 'attempts-spent', parked: true, destination: 'sms' })
  })
})

describe('a line with a queue', () => {
  it('is the message that the consumer of the queue would get', async () => {
    const properties = {
      messageId: 'a',
      timestamp: 1_793_527_200,
      headers: { n: 1, b: { '!': 'bytes', value: '/wD+' } },
    }
    const { message } = await readOne({
      queue: 'emails',
      exchange: 'mail',
      routing_key: 'eu',
      properties,
      payload: 'x',
    })
    expect(message).toMatchObject({
      system: 'rabbitmq',
      destination: 'emails',
      origin: 'emails',
      messageId: 'a',
      key: Buffer.from('eu'),
      value: Buffer.from('x'),
      timestamp: 1_793_527_200_000,
    })
    expect({ ...message.headers }).toEqual({ n: 1, b: ODD_BYTES })
  })

  it('of a dead letter has the origin, the first routing key and the reason', async () => {
    const headers = {
      'consume-once-origin-queue': 'emails',
      'consume-once-origin-routing-key': 'eu',
      'consume-once-reason': 'terminal',
      'consume-once-parked': true,
    }
    const item = await readOne({ queue: 'emails.dead-letter', properties: { headers }, payload: '' })
    expect(item.message).toMatchObject({ origin: 'emails', key: Buffer.from('eu'), value: Buffer.alloc(0) })
    expect(item.deadLetter).toMatchObject({ reason: 'terminal', parked: true, group: 'emails', destination: 'emails' })
  })
})

describe('envelopeOf', () => {
  it.each([
    ['of Kafka', { ...KAFKA, headers_base64: ['id', '/wD+', 'id', ''], payload_base64: '/wD+', key: null }],
    ['of Kafka without a payload', { ...KAFKA, tstype: 'logappend', payload: null, headers: [] }],
    [
      'of RabbitMQ',
      {
        queue: 'emails',
        ts: 1_793_527_200_000,
        routing_key: 'eu',
        properties: {
          messageId: 'a',
          timestamp: 1_793_527_200,
          headers: {
            'x-death': [{ queue: 'q', time: { '!': 'timestamp', value: 1 } }],
            b: { '!': 'bytes', value: '/wD+' },
          },
        },
        payload: 'é\u2028',
      },
    ],
  ])('writes a message %s that is read back as it was', async (_system, line) => {
    const item = await readOne(line)
    const again = await readOne(JSON.parse(envelopeOf(item)) as object)
    expect({ ...again, part: item.part }).toEqual(item)
    expect(envelopeOf(item)).not.toContain('\n')
  })

  it('writes a message of another broker, with a position that has no partition', async () => {
    const item = await readOne(sms(1))
    const message = { ...item.message, system: 'nats', position: 'seq 7' }
    const again = await readOne(JSON.parse(envelopeOf({ ...item, message })) as object)
    expect(again.message).toMatchObject({ destination: 'sms', headers: item.message.headers })
    expect(envelopeOf({ ...item, message })).not.toMatch(/partition|offset|null,"ts/)
  })
})

describe('the lines of a file', () => {
  it('are its positions, and blank lines have no message', async () => {
    const items = await read('\uFEFF{"topic":"sms"}', '', ' \r', sms(4))
    expect(items.map(({ position }) => position)).toEqual(['1', '4'])
  })

  it('are the bounds of a range', async () => {
    const reader = await fileReplay().open(fileOf(sms(1), '', sms(3), sms(4), sms(5)))
    const partOf = async (asked: object): Promise<unknown> => (await reader.range(asked)).parts[0]
    expect(await partOf({})).toMatchObject({ from: '1', to: '6' })
    expect(await partOf({ from: 2n, to: 4n })).toMatchObject({ from: '2', to: '4' })
    expect(await partOf({ from: 2n, max: 2 })).toMatchObject({ from: '2', to: '5' })
    expect(await partOf({ from: 9n })).toMatchObject({ from: '9', to: '9' })
  })

  it('are read on from a checkpoint, in batches', async () => {
    const path = fileOf(...[1, 2, 3, 4, 5].map(sms))
    const reader = await fileReplay().open(path)
    const range = await reader.range({})
    const batches: string[][] = []
    const options = { from: { [path]: '3' }, ahead: 2, signal: new AbortController().signal }
    for await (const batch of reader.read(range, options)) batches.push(batch.map(({ position }) => position))
    expect(batches).toEqual([['3', '4'], ['5']])
  })

  it('added after the range was taken are not read, and removed ones stop the reading', async () => {
    const path = fileOf(sms(1), sms(2))
    const reader = await fileReplay().open(path)
    const range = await reader.range({})
    const signal = new AbortController().signal
    const readRange = async (): Promise<number> => {
      let count = 0
      for await (const batch of reader.read(range, { signal })) count += batch.length
      return count
    }
    writeFileSync(path, `${JSON.stringify(sms(3))}\n`, { flag: 'a' })
    expect(await readRange()).toBe(2)
    truncateSync(path, 5)
    writeFileSync(path, `${JSON.stringify(sms(1))}\n`)
    await expect(readRange()).rejects.toMatchObject({ code: 'REPLAY_RANGE_LOST' })
  })

  it.each([
    ['text that is not JSON', 'secret {'],
    ['an array', '[]'],
    ['no topic and no queue', { payload: 'secret' }],
    ['a topic that is a number', { topic: 5 }],
    ['a payload that is an object', { topic: 'sms', payload: { secret: 1 } }],
    ['a key that is not base64', { topic: 'sms', key_base64: 'secret!' }],
    ['a header without a value', { topic: 'sms', headers: ['secret'] }],
    ['a header that is a number', { topic: 'sms', headers: { secret: 5 } }],
    ['a header with half a character', String.raw`{"topic":"sms","headers":["secret","\ud800"]}`],
    [
      'a header that is not UTF-8',
      Buffer.concat([Buffer.from('{"topic":"sms","headers":["id","'), ODD_BYTES.subarray(0, 1), Buffer.from('"]}')]),
    ],
  ])('name the line with %s, and do not repeat it', async (_what, bad) => {
    const reading = read(sms(1), bad)
    await expect(reading).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(reading).rejects.toThrow(/ndjson, line 2: .*Expected one JSON object a line/)
    await expect(reading).rejects.not.toThrow(/secret/)
  })

  it('are at most 16 MB long', async () => {
    const long = Buffer.alloc(MOST_LINE_BYTES + 1, 'x')
    await expect(read(sms(1), long)).rejects.toThrow(/line 2: longer than 16777216 bytes/)
  })

  it.each([
    [
      'invalid bytes',
      Buffer.concat([Buffer.from('{"topic":"sms","payload":"'), ODD_BYTES.subarray(0, 1), Buffer.from('"}')]),
    ],
    ['U+FFFD', '{"topic":"sms","payload":"\uFFFD"}'],
    ['an escaped U+FFFD', String.raw`{"topic":"sms","payload":"\uFFFD"}`],
  ])('warn of a payload with %s, because its digest differs', async (_what, bad) => {
    const reader = await fileReplay().open(fileOf(sms(1), bad))
    const { warnings } = await reader.range({})
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^U\+FFFD in the payload of 1 of 2 messages.* conflict/)
  })

  it('do not warn if the bytes are there in base64, or nothing is damaged', async () => {
    const reader = await fileReplay().open(fileOf(sms(1), { ...sms(2), payload: '\uFFFD', payload_base64: '/w==' }))
    expect((await reader.range({})).warnings).toEqual([])
  })
})

describe('standard input', () => {
  it('is read twice, and the copy is gone after the close', async () => {
    const before = spools()
    const reader = await fileReplay(Readable.from(['{"topic":"s', 'ms"}\n{"topic":"sms"}'])).open('-')
    expect(spools()).toBe(before + 1)
    expect((await reader.range({})).warnings).toEqual([expect.stringContaining('Save it as a file')])
    expect(await readFrom(reader)).toHaveLength(2)
    expect((await readFrom(reader)).map(({ part, position }) => `${part}:${position}`)).toEqual(['-:1', '-:2'])
    await reader.close()
    expect(spools()).toBe(before)
  })
})

describe('a file that is not there', () => {
  it('is refused when it is opened', async () => {
    await expect(fileReplay().open(join(folder, 'none'))).rejects.toThrow(/none cannot be read: .*ENOENT/)
  })
})
