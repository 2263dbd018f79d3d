import { describe, expect, it } from '@jest/globals'
import type { DashboardOptions } from '../../../dashboard/server/index.ts'
import { shownMessage, type Seen } from '../../../dashboard/server/payload.ts'
import type { ReplayItem } from '../../../src/ports/replay.ts'

type How = Pick<DashboardOptions, 'showPayload' | 'redact'>

function shown(value: string | null, how: How, headers: Readonly<Record<string, unknown>> = {}): Seen {
  const message = { system: 'kafka', destination: 'sms', origin: 'sms', position: '0@1', key: null, headers }
  const bytes = value === null ? null : Buffer.from(value)
  const item = { part: 'sms/0', position: '1', timestamp: 1, message: { ...message, value: bytes } }
  return shownMessage(item as unknown as ReplayItem, how, 'sms')
}

const PAYLOAD = '{"to":"+4917","Text":"hello","list":[{"to":{"number":"+4918"},"n":1}]}'

describe('payload and headers', () => {
  it('are hidden unless they are allowed, and their size is not', () => {
    for (const how of [{}, { showPayload: false }, { showPayload: ['mail'] }]) {
      const hidden = shown(PAYLOAD, how, { to: '+4917' })
      expect(hidden.bytes).toBe(PAYLOAD.length)
      expect(JSON.stringify(hidden)).not.toMatch(/\+49|hello/)
      expect([hidden.payload, hidden.headers]).toEqual([undefined, undefined])
    }
  })

  it('are without the named fields at any depth, whatever their case', () => {
    const { payload, headers } = shown(
      PAYLOAD,
      { showPayload: true, redact: ['TO', 'text'] },
      {
        To: Buffer.from('+4917'),
        id: Buffer.from('a'),
      },
    )
    expect(JSON.parse(payload ?? '')).toEqual({ to: '***', Text: '***', list: [{ to: '***', n: 1 }] })
    expect(headers).toEqual([
      { name: 'To', value: '***' },
      { name: 'id', value: 'a' },
    ])
  })

  it('are hidden as a whole if fields of them are to be hidden, and they are not JSON', () => {
    expect(shown('to=+4917', { showPayload: true, redact: ['to'] }).payload).toMatch(/^\*\*\*/)
    expect(shown('{"to":"+4917"', { showPayload: true, redact: ['to'] }).payload).toMatch(/^\*\*\*/)
    expect(shown('to=+4917', { showPayload: true }).payload).toBe('to=+4917')
    expect(shown('to=+4917', { showPayload: ['mail', 'sms'] }).payload).toBe('to=+4917')
  })

  it('are what a function makes of them, which is told what it has', () => {
    const asked: unknown[] = []
    const redact = (text: string, where: object): string => {
      asked.push(where)
      return text.replaceAll(/\+\d+/g, '+…')
    }
    const { payload, headers } = shown(PAYLOAD, { showPayload: true, redact }, { to: '+4917' })
    expect(payload).not.toMatch(/\+\d/)
    expect(headers).toEqual([{ name: 'to', value: '+…' }])
    expect(asked).toEqual([
      { consumer: 'sms', part: 'payload' },
      { consumer: 'sms', part: 'header', name: 'to' },
    ])
  })

  it('tell which names hide nothing in them', () => {
    const how = { showPayload: true, redact: ['to', 'txet', 'X-Tenant'] }
    expect(shown('{"a":[{"to":"+4917"}]}', how, { 'x-tenant': 'acme' }).unmatched).toEqual(['txet'])
    expect(shown('to=+4917', how).unmatched).toEqual([])
  })

  it('are redacted before they are cut', () => {
    const long = JSON.stringify({ before: 'x'.repeat(20_000), to: '+4917' })
    const { payload, isCut } = shown(long, { showPayload: true, redact: ['to'] })
    expect([payload?.length, isCut]).toEqual([16_384, true])
    expect(shown(null, { showPayload: true })).toMatchObject({ payload: undefined, isCut: false, bytes: undefined })
  })
})
