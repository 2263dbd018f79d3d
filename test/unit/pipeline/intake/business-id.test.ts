import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../../src/foundation/errors.ts'
import { messageId } from '../../../../src/identity/message-id.ts'
import type { Logger } from '../../../../src/ports/logger.ts'
import { resolveOptions } from '../../../../src/consumer/resolve-options.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import { endRigs, startRig, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

const start = (options: Partial<RigOptions>): Promise<Rig> => startRig({ effect: (work) => work.apply(), ...options })

const at = (timestamp: number): object => ({ ...bytes('{"to":"a"}'), timestamp })

const bytes = (text: string): { readonly bytes: Uint8Array } => ({ bytes: Buffer.from(text) })

/** Outcomes of one delivery of each text, in order. */
async function outcomesOf(options: Partial<RigOptions>, ...texts: readonly string[]): Promise<readonly string[]> {
  const rig = await start(options)
  for (const text of texts) await rig.deliver(bytes(text))
  return rig.outcomes()
}

/** The detail of the dead letter of each text. */
async function refusalsOf(options: Partial<RigOptions>, ...texts: readonly string[]): Promise<readonly string[]> {
  const rig = await start(options)
  for (const text of texts) await rig.deliver(bytes(text))
  expect(rig.source.deadLetters.map(({ reason }) => reason)).toEqual(texts.map(() => 'no-id'))
  expect(rig.started).toEqual([])
  return rig.source.deadLetters.map(({ detail }) => detail)
}

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

function missing(found: string): string {
  return `no message ID: /order/id of the payload holds ${found}; expected text, bytes or a whole number up to 2^53 - 1`
}

describe('an ID from the payload', () => {
  const id = messageId.payload('/order/id')

  it('finds the repeat of a message whose other fields differ in nothing that matters', async () => {
    const options = { id, onConflict: 'duplicate' as const }
    expect(await outcomesOf(options, '{"order":{"id":"a"},"at":1}', '{"at":2,"order":{"id":"a"}}')).toEqual([
      'handled',
      'duplicate',
    ])
  })

  it('never takes two parts for two others that read the same when joined', async () => {
    const parts = { id: messageId.payload('/a', '/b') }
    const texts = ['["a","bc"]', '["ab","c"]', '["1:","1:a"]', '["1:1:","a"]', '["é","b"]', '["e","́b"]']
    const payloads = texts.map((text) => {
      const [a, b] = JSON.parse(text) as readonly string[]
      return JSON.stringify({ a, b })
    })
    expect(await outcomesOf(parts, ...payloads)).toEqual(payloads.map(() => 'handled'))
  })

  it('takes a number for its text, and true and false for theirs', async () => {
    const options = { id, onConflict: 'duplicate' as const }
    const texts = ['7', '"7"', '7.0', '0', '-0', 'true', 'false'].map((value) => `{"order":{"id":${value}}}`)
    expect(await outcomesOf(options, ...texts)).toEqual([
      'handled',
      'duplicate',
      'duplicate',
      'handled',
      'duplicate',
      'handled',
      'handled',
    ])
  })

  it('says what is missing, and what cannot be an ID', async () => {
    const values = ['null', '""', '{"a":1}', '["a"]', '1.5', '9007199254740993', '"  "', '"\\ud800"']
    const texts = ['{}', '[]', 'null', ...values.map((value) => `{"order":{"id":${value}}}`)]
    const expected = 'expected text, a whole number up to 2^53 - 1 or a boolean, got'
    const threw = 'the ID extractor threw: /order/id: '
    expect(await refusalsOf({ id }, ...texts)).toEqual([
      missing('nothing'),
      missing('nothing'),
      missing('nothing'),
      missing('null'),
      missing('empty text'),
      `${threw}${expected} an object`,
      `${threw}${expected} an array`,
      `${threw}${expected} a number with a fraction: send it as text`,
      `${threw}${expected} a number that may have lost digits: send it as text`,
      `${threw}the message ID is blank`,
      `${threw}the message ID holds a lone surrogate`,
    ])
  })

  it('is refused at its definition where it is no JSON Pointer', () => {
    expect(problemsOf(() => messageId.payload('order/id', '/a~b'))).toEqual([
      'messageId.payload: pointers[0]: expected a JSON Pointer (RFC 6901) such as "/order/id", got "order/id": did you mean "/order/id"?',
      'messageId.payload: pointers[1]: expected a JSON Pointer (RFC 6901) such as "/order/id", got "/a~b"',
    ])
    const none = [] as unknown as [string]
    expect(problemsOf(() => messageId.payload(...none))).toHaveLength(1)
  })
})

describe('a fingerprint', () => {
  const id = messageId.fingerprint({ omit: ['/sentAt', '/geo/*'] })

  it('finds the repeat of the same parameters, however they are written', async () => {
    const texts = [
      '{"to":"a","amount":1.0,"sentAt":1,"geo":{"lat":1}}',
      '{ "geo": {"lat": 2, "lon": 3}, "amount": 1e0, "to": "\\u0061" }',
    ]
    expect(await outcomesOf({ id }, ...texts)).toEqual(['handled', 'duplicate'])
  })

  it('merges nothing that differs', async () => {
    const values = [
      '1',
      '"1"',
      'true',
      'null',
      '[1]',
      '{"1":1}',
      '9007199254740992',
      '9007199254740993',
      '"é"',
      '"e\\u0301"',
    ]
    const texts = ['{"to":"a"}', ...values.map((value) => `{"to":${value}}`), '{"to":1,"__proto__":1}']
    expect(await outcomesOf({ id }, ...texts)).toEqual(texts.map(() => 'handled'))
  })

  it('is one within what its scope says', async () => {
    const scoped = { id: messageId.fingerprint({ scope: [messageId.header('tenant'), messageId.header('op')] }) }
    const rig = await start(scoped)
    const sent = (tenant: string, op: string): object => ({ ...bytes('{"a":1}'), headers: { tenant, op } })
    await rig.deliver(sent('a', 'bc'), sent('ab', 'c'))
    await rig.deliver(sent('a', 'bc'), { ...bytes('{"a":1}'), headers: { tenant: 'a' } })
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'dead-lettered', 'duplicate'])
    expect(rig.source.deadLetters[0]?.detail).toContain('scope 2: no message ID')
  })

  it('needs each of the parts that it includes: a wrong path must not merge everything', async () => {
    const included = { id: messageId.fingerprint({ include: ['/to', '/amount', '/items/*/sku'] }) }
    const why = 'the ID extractor threw: the payload must have '
    expect(await refusalsOf(included, '{}', '{"to":1,"items":[]}', '{"amount":1,"items":[{"sku":1}]}')).toEqual([
      `${why}/to and /amount and /items/*/sku`,
      `${why}/amount and /items/*/sku`,
      `${why}/to`,
    ])
    const texts = ['{"to":1,"amount":2,"items":[{"sku":3}],"at":4}', '{"to":1,"amount":2,"items":[{"sku":3}],"at":5}']
    expect(await outcomesOf(included, ...texts)).toEqual(['handled', 'duplicate'])
  })

  it.each([
    ['nothing is left', '{"sentAt":1}', 'nothing in the payload identifies it'],
    ['a name comes twice', '{"to":1,"to":2}', 'an object has a name twice'],
    ['it is no JSON', 'to=1', 'character 0 is no JSON'],
    ['it is 1,000 levels deep', `${'[1,'.repeat(1_000)}1${']'.repeat(1_000)}`, 'more than 100 levels'],
    ['it has 10 MB', `"${'x'.repeat(10_000_000)}"`, 'expected a payload of at most 65536 bytes'],
  ])('says so where %s', async (_, text, why) => {
    const [detail] = await refusalsOf({ id }, text)
    expect(detail).toContain(why)
    expect(detail?.length).toBeLessThan(300)
  })

  it('is refused at its definition with a wrong path, option or size', () => {
    const wrong = { include: 'to', omit: ['geo.*'], maxBytes: 2 ** 21, paths: [] } as object
    expect(problemsOf(() => messageId.fingerprint(wrong))).toEqual([
      expect.stringMatching(/^messageId\.fingerprint: paths: unknown option/),
      expect.stringMatching(/^messageId\.fingerprint: include: expected at least one, in a list, .*, got "to"/),
      expect.stringMatching(/omit\[0\]: expected a JSON Pointer .* did you mean "\/geo/),
      expect.stringMatching(/maxBytes: expected a whole number from 1 to 1048576/),
    ])
    const options = { name: 'a', store: memoryStore(), handle: () => {}, id, onConflict: 'dead-letter' as const }
    expect(problemsOf(() => resolveOptions(options))).toEqual([expect.stringContaining('with a fingerprint')])
    expect(resolveOptions({ ...options, onConflict: undefined } as never).onConflict).toBe('duplicate')
  })
})

describe('a window', () => {
  const MINUTE = 60_000
  const id = messageId.window(messageId.fingerprint(), { fixedMs: 10 * MINUTE })

  it('makes a repeat a duplicate within it, and not after it, by the time of the message', async () => {
    const rig = await start({ id })
    const now = Math.floor(rig.clock.now() / (10 * MINUTE)) * 10 * MINUTE
    await rig.deliver(at(now + 1))
    await rig.deliver(at(now + 10 * MINUTE - 1), at(now + 10 * MINUTE))
    // A redelivery, long after.
    await rig.clock.advance(30 * MINUTE)
    await rig.deliver(at(now + 1), at(now + 10 * MINUTE))
    expect(rig.outcomes()).toEqual(['handled', 'duplicate', 'handled', 'duplicate', 'duplicate'])
  })

  it('knows the time of the original of a copy', () => {
    const message = { system: 'kafka', destination: 't', origin: 't', position: '0@0', key: null, headers: {} } as const
    const extract = messageId.window(messageId.header('id'), { fixedMs: 10 })
    const sent = { ...message, value: null, payload: undefined, headers: { id: 'a' }, timestamp: 15 }
    expect(extract(sent)).toBe('10:1:a')
    expect(extract({ ...sent, timestamp: 99, firstTimestamp: 19 })).toBe('10:1:a')
    expect(extract({ ...sent, headers: { id: Buffer.from('a') } })).toEqual(Buffer.from('10:1:a'))
    expect(extract({ ...sent, headers: {} })).toBeUndefined()
  })

  it('has no place for a message without a timestamp', async () => {
    expect(await refusalsOf({ id }, '{"to":"a"}')).toEqual([
      'the ID extractor threw: the message has no timestamp, so it belongs to no window',
    ])
  })

  it('is refused where it slides, is no number, or outlasts the records', () => {
    expect(problemsOf(() => messageId.window('id' as never, { slidingMs: 5 } as never))).toEqual([
      expect.stringContaining('a redelivery that comes later would run again: use fixedMs'),
      'messageId.window: fixedMs: expected a whole number from 1, got undefined',
    ])
    expect(problemsOf(() => messageId.window('id' as never, { fixedMs: 5 }))).toEqual([
      'messageId.window: id: expected an ID extractor, got "id"',
    ])
    const options = { name: 'a', store: memoryStore(), handle: () => {}, id, retentionMs: 10 * MINUTE }
    expect(problemsOf(() => resolveOptions(options))).toEqual([
      'consumer "a": retentionMs: expected more than the window of the message ID (600000), got 600000: a repeat in the same window could run again',
    ])
  })
})

describe('a conflict', () => {
  const id = messageId.payload('/id')
  const onConflict = { compare: ['/amount', '/currency', '/discount'] }

  it('is told by the fields that are compared, and by no others', async () => {
    const texts = [
      '{"id":1,"amount":5,"currency":"EUR","at":1}',
      '{"id":1,"at":2,"currency":"EUR","amount":5.0}',
      '{"id":1,"amount":6,"currency":"EUR","at":1}',
      '{"id":1,"amount":5,"currency":"EUR","discount":null}',
    ]
    expect(await outcomesOf({ id, onConflict }, ...texts)).toEqual([
      'handled',
      'duplicate',
      'dead-lettered',
      'dead-lettered',
    ])
  })

  it('cannot be told without any of these fields, or without JSON', async () => {
    const header = messageId.header('id')
    const rig = await start({ id: header, onConflict, decode: () => 'text' })
    await rig.deliver({ id: 'a', ...bytes('{"at":1}') }, { id: 'b', ...bytes('amount=1') })
    expect(rig.source.deadLetters.map(({ reason, detail }) => [reason, detail])).toEqual([
      ['no-id', 'onConflict.compare: the payload must have /amount or /currency or /discount'],
      ['no-id', 'onConflict.compare: character 0 is no JSON'],
    ])
  })

  it('is refused at its definition without a path', () => {
    const options = { name: 'a', store: memoryStore(), handle: () => {} }
    const wrong = [{ compare: ['amount'] }, { compare: 'amount' }, { compare: [] }, { compared: ['/a'] }, 'ignore']
    for (const one of wrong) {
      expect(problemsOf(() => resolveOptions({ ...options, onConflict: one as never }))[0]).toMatch(
        /^consumer "a": onConflict/,
      )
    }
  })

  it('is explained in the log, the first time', async () => {
    const lines: string[] = []
    const keep = (_: object, text: string): void => void lines.push(text)
    const log: Logger = { debug: () => {}, info: () => {}, warn: keep, error: keep }
    const rig = await start({ id, log })
    await rig.deliver(bytes('{"id":1}'))
    expect(lines).toEqual([])
    await rig.deliver(bytes('{"id":1,"at":1}'))
    await rig.deliver(bytes('{"id":1,"at":2}'))
    expect(lines).toEqual(['dead-lettered', expect.stringMatching(/^about conflicts: /), 'dead-lettered'])
  })
})
