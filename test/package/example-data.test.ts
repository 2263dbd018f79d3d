import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { beforeAll, describe, expect, it } from '@jest/globals'

import { exampleData } from '../../cli/demo/example-data.ts'

const DATA = fileURLToPath(new URL('../../examples/data/', import.meta.url))
const MAX_ID_BYTES = 512

type HeaderList = readonly (string | null)[]
type HeaderMap = Readonly<Record<string, readonly (string | null)[]>>

type Envelope = {
  readonly partition: number
  readonly offset: number
  readonly ts: number
  readonly key: string | null
  readonly headers?: HeaderList | HeaderMap
  readonly payload?: string | null
  readonly payload_base64?: string
}

type Verdict = 'first' | 'repeat' | 'conflict' | 'no-id'

describe('sms-notifications.ndjson', () => {
  let text = ''
  let envelopes: Envelope[] = []
  let verdicts: Verdict[] = []

  beforeAll(() => {
    text = readFileSync(`${DATA}sms-notifications.ndjson`, 'utf8')
    envelopes = parse(text)
    verdicts = judge(envelopes)
  })

  it('is what the demo makes where the file is not, byte for byte, and at most 5 MB', () => {
    // Compared as a boolean: a diff of five megabytes would help nobody.
    expect(exampleData() === text).toBe(true)
    expect(statSync(`${DATA}sms-notifications.ndjson`).size).toBeLessThanOrEqual(5_000_000)
  })

  it('has the promised volume, every ID usable and always with the same payload', () => {
    const counts = count(verdicts)
    expect(counts['lines']).toBeGreaterThanOrEqual(10_400)
    expect(counts['distinct usable IDs']).toBeGreaterThanOrEqual(8_000)
    expect(counts['conflicts']).toBe(0)
    expect(counts['lines without a usable ID']).toBe(0)
  })

  it('is in time order, with offsets that count up per partition and one partition per key', () => {
    const next = new Map<number, number>()
    const partitions = new Map<string | null, number>()
    let ts = 0
    const misplaced = envelopes.filter((envelope) => {
      const wrong =
        envelope.ts < ts ||
        envelope.offset !== (next.get(envelope.partition) ?? 0) ||
        envelope.partition !== (partitions.get(envelope.key) ?? envelope.partition)
      ts = envelope.ts
      next.set(envelope.partition, envelope.offset + 1)
      partitions.set(envelope.key, envelope.partition)
      return wrong
    })
    expect(misplaced).toEqual([])
    expect([...next.keys()].toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3])
  })

  it('holds the replay of a restarted relay: 400 repeats in a row', () => {
    let run = 0
    let longest = 0
    for (const verdict of verdicts) {
      run = verdict === 'repeat' ? run + 1 : 0
      longest = Math.max(longest, run)
    }
    expect(longest).toBeGreaterThanOrEqual(400)
  })

  it('gives every delivery a trace of its own', () => {
    const traces = envelopes.map((envelope) => headerValues(envelope, 'traceparent')[0])
    expect(new Set(traces).size).toBe(envelopes.length)
  })

  it('names its payload by the ID of its header', () => {
    const strangers = envelopes.filter((envelope) => {
      const payload = JSON.parse(envelope.payload ?? '') as { readonly notificationId: string }
      return payload.notificationId !== messageId(envelope)
    })
    expect(strangers).toEqual([])
  })
})

describe('odd-cases.ndjson', () => {
  it('ends every case whose text says so as the text says', () => {
    const envelopes = parse(readFileSync(`${DATA}odd-cases.ndjson`, 'utf8'))
    const verdicts = judge(envelopes)
    const cases = envelopes.map((envelope, index) => ({
      name: headerValues(envelope, 'case')[0] ?? '',
      verdict: verdicts[index],
    }))
    const told = (pattern: RegExp): unknown => [
      ...new Set(cases.filter(({ name }) => pattern.test(name)).map(({ verdict }) => verdict)),
    ]
    expect(told(/^conflict/)).toEqual(['conflict'])
    expect(told(/sent again|repeat of/)).toEqual(['repeat'])
    expect(told(/not usable|too long|^no message-id|^message-id is/)).toEqual(['no-id'])
    expect(told(/ [12] of 2|: usable|longest usable|ID, (de)?composed/)).toEqual(['first'])
  })
})

describe('README.md', () => {
  it.each([
    ['sms-notifications.ndjson', 1],
    ['odd-cases.ndjson', 2],
  ])('states the counts of %s', (file, column) => {
    const counts = count(judge(parse(readFileSync(`${DATA}${file}`, 'utf8'))))
    expect(statedCounts(column)).toEqual(counts)
  })
})

function parse(ndjson: string): Envelope[] {
  return ndjson
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Envelope)
}

/** What each line is, given the lines before it; the first payload seen under an ID is the one that counts. */
function judge(envelopes: readonly Envelope[]): Verdict[] {
  const payloads = new Map<string, string>()
  return envelopes.map((envelope) => {
    const id = messageId(envelope)
    if (id === undefined) return 'no-id'
    const payload = payloadBytes(envelope)
    const before = payloads.get(id)
    if (before !== undefined) return before === payload ? 'repeat' : 'conflict'
    payloads.set(id, payload)
    return 'first'
  })
}

function count(verdicts: readonly Verdict[]): Record<string, number> {
  const of = (wanted: Verdict): number => verdicts.filter((verdict) => verdict === wanted).length
  return {
    lines: verdicts.length,
    'distinct usable IDs': of('first'),
    'repeats with the same payload': of('repeat'),
    conflicts: of('conflict'),
    'lines without a usable ID': of('no-id'),
  }
}

function statedCounts(column: number): Record<string, number> {
  const rows = readFileSync(`${DATA}README.md`, 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map((cells) => [cells[1] ?? '', (cells[column + 1] ?? '').replaceAll(',', '')] as const)
    .filter(([, stated]) => /^\d+$/.test(stated))
  return Object.fromEntries(rows.map(([what, stated]) => [what, Number(stated)]))
}

function messageId(envelope: Envelope): string | undefined {
  const values = [...new Set(headerValues(envelope, 'message-id'))]
  const [id] = values
  if (values.length !== 1 || typeof id !== 'string' || id.trim() === '') return undefined
  return Buffer.byteLength(id) > MAX_ID_BYTES ? undefined : id
}

function headerValues({ headers = [] }: Envelope, name: string): readonly (string | null)[] {
  if (isList(headers)) return headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === name)
  return Object.hasOwn(headers, name) ? (headers[name] ?? []) : []
}

function isList(headers: HeaderList | HeaderMap): headers is HeaderList {
  return Array.isArray(headers)
}

/** The bytes as base64; a tombstone is not the same as an empty payload. */
function payloadBytes({ payload = null, payload_base64: base64 }: Envelope): string {
  if (base64 !== undefined) return base64
  return payload === null ? 'tombstone' : Buffer.from(payload).toString('base64')
}
